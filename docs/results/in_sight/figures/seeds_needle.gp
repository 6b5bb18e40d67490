# A cell a seed, the best first, coloured by accuracy; the number: seeds that solve it (accuracy of at least 99 %). A seed that diverged counts as 0; one without a record has no cell.
# Redraw in this folder with: gnuplot seeds_needle.gp   (data: seeds_needle.tsv)
# Other formats: gnuplot -e 'format="pdf"' seeds_needle.gp   (svg, pdf, png)
# TikZ, whose texts need escapes: pesuite report . --figures tikz

name = "seeds_needle"
figure_title = "needle · accuracy (%) of every seed, and how many solve it"
x_label = "evaluation length (tokens)"
x_low = 0.5
x_high = 35.5
x_log = 0
x_ticks = "(\"64 (1x)\\nin range\" 3, \"64 (1x)\\nbeyond\" 10, \"128 (2x)\\nbeyond\" 17, \"256 (4x)\\nbeyond\" 24, \"512 (8x)\\nbeyond\" 31)"
x_lines = 2
y_label = ""
y_low = 0.5
y_high = 7.5
y_log = 0
y_ticks = "(\"rope\" 7, \"self_extend\" 6, \"rerope\" 5, \"dual_chunk\" 4, \"lm_infinite\" 3, \"streaming_llm\" 2, \"window\" 1)"
y_lines = 1
n = 0
legend_width = 179
columns = 1
left = 156.6
legend_width = 96
array panel[1] = [""]
panel_height = 189
panel_width = 770
panels = 1
rows = 1
scale = 1
scale_ticks = "(\"0\" 0, \"25\" 16, \"50\" 32, \"75\" 48, \"100\" 64)"

# ---- style.gp: the look that all figures share ----
set encoding utf8

# In pixels: a panel of one size, room for the ticks' lines below it and for the legend beside it.
top = exists("top_ticks") ? 70 : 44
if (!exists("left")) { left = 96 }
if (!exists("panel_width")) { panel_width = 520 }
if (!exists("panel_height")) { panel_height = 350 }
bottom = 48 + 19 * x_lines
if (!exists("legend_height")) { legend_height = 23 * (n + 2) }
height = top + (panel_height > legend_height ? panel_height : legend_height) + bottom
width = left + panel_width + 24 + legend_width
# noenhanced: names of encodings may hold _ ^ @ and are shown as they are
if (!exists("format")) { format = "svg" }
if (format eq "svg") { set terminal svg noenhanced size width,height font "sans-serif,14" background "#ffffff" }
if (format eq "pdf") { set terminal pdfcairo noenhanced size width / 96.0,height / 96.0 font "sans-serif,10.5" lw 0.8 }
if (format eq "png") { set terminal pngcairo noenhanced size 2 * width,2 * height fontscale 2 lw 2 ps 2 font "sans-serif,11" background "#ffffff" }
# A document of its own, with the style file that it reads beside it; its terminal takes no expressions.
if (format eq "tikz") { eval sprintf("set terminal tikz standalone createstyle size %.3fin,%.3fin", width / 96.0, height / 96.0) }
set output name.".".(format eq "tikz" ? "tex" : format)
set lmargin at screen left / real(width)
set rmargin at screen (left + panel_width) / real(width)
set tmargin at screen 1 - top / real(height)
set bmargin at screen bottom / real(height)

set title figure_title offset 0,-0.3 tc rgb "#111111"
set label 10 x_label at screen (left + panel_width / 2.0) / width, screen 18.0 / height center tc rgb "#111111"
set ylabel y_label tc rgb "#111111"
set border 3 lc rgb "#555555" lw 1
set tics nomirror out scale 0.6 tc rgb "#222222"
if (exists("x_ticks")) { eval "set xtics ".x_ticks }
if (exists("y_ticks")) { eval "set ytics ".y_ticks }
set grid ytics lc rgb "#DDDDDD" lt 1 lw 0.8
set key at screen (left + panel_width + 20.0) / width, screen (bottom + height - top) / 2.0 / height
set key left center vertical maxcols 1 Left reverse samplen 2 spacing 1.15 tc rgb "#111111"

# The data: cells are numbers, "inf", or nothing.
set datafile separator "\t"
set datafile columnheaders
data = name.".tsv"
is_inf(c) = strcol(c) eq "inf"
cell(c) = strlen(strcol(c)) == 0 || is_inf(c) ? NaN : column(c)
row(i, kind) = strcol("encoding") eq id[i] && strcol("kind") eq kind

# What a point says to a reader who points at it, where pictures can: report/gnuplot.cpp makes titles of
# what stands there. `where` begins with a blank.
spoken = format eq "svg" ? n : 0
between(low, high) = cell(low) == cell(low) ? sprintf(" [%.4g, %.4g]", cell(low), cell(high)) : ""
of_seed(c) = strcol("kind") eq "seed" ? " (seed ".strcol(c).")" : ""
says(i, where) = sprintf("%s%s: %.4g", id[i], where, cell("value"))
at_x(unit) = sprintf(" at %g%s", cell("x"), unit)

# Names at the ends of lines, apart from each other, with a leader from each line.
after(pixels) = 1 + pixels / real(panel_width)
if (exists("label_at")) {
  do for [i=1:n] {
    set label 100 + i label[i] at graph after(22), graph label_at[i] left tc ls i
    set arrow 100 + i from graph after(2), graph end[i] to graph after(19), graph label_at[i] nohead ls i lw 0.8 dt 1
  }
  unset key
}

# ---- cells.gp: panels of coloured cells with their values, and the scale of the colours ----
unset grid; unset key; unset title
set label 11 figure_title at screen (left + panel_width / 2.0) / width, screen 1 - 20.0 / height center tc rgb "#111111"
set label 12 y_label at screen 20.0 / width, screen (bottom + (height - top - bottom) / 2.0) / height center rotate by 90 tc rgb "#111111"
unset ylabel
set border 0
set tics scale 0
set style fill solid 1.0 noborder
gap_x = 16; gap_y = 34
first = top + (panels > 1 ? 26 : 0)
cell_width = (panel_width - gap_x * (columns - 1)) / real(columns)
cell_height = (panel_height - gap_y * (rows - 1) - (panels > 1 ? 26 : 0)) / real(rows)
of_panel(p) = column("panel") == p
set multiplot
do for [p=1:panels] {
  across = (p - 1) % columns; down = (p - 1) / columns
  from = left + across * (cell_width + gap_x); upper = first + down * (cell_height + gap_y)
  set lmargin at screen from / width
  set rmargin at screen (from + cell_width) / width
  set tmargin at screen 1 - upper / real(height)
  set bmargin at screen 1 - (upper + cell_height) / real(height)
  if (panels > 1) { set title panel[p] offset 0,-0.6 tc rgb "#111111" }
  if (across == 0) { eval "set ytics scale 0 ".y_ticks." tc rgb '#222222'" } else { unset ytics }
  if (p + columns > panels) { eval "set xtics scale 0 ".x_ticks." tc rgb '#222222'" } else { unset xtics }
  set xrange [x_low:x_high]
  set yrange [y_low:y_high]
  plot data using (of_panel(p) ? cell("x") : NaN):(cell("y")):(cell("x") - cell("half_width")):(cell("x") + cell("half_width")):(cell("y") - 0.48):(cell("y") + 0.48):(column("colour")) \
         with boxxyerror lc rgb variable notitle, \
       data using (of_panel(p) && strlen(strcol("text")) > 0 ? cell("x") : NaN):(cell("y")):(strcol("text")):(column("text_colour")) \
         with labels font ",11" tc rgb variable notitle
  unset label 10; unset label 11; unset label 12
}
if (scale) {
  unset title; unset xtics; unset ytics
  set lmargin at screen (left + panel_width + 22.0) / width
  set rmargin at screen (left + panel_width + 36.0) / width
  set tmargin at screen 1 - first / real(height)
  set bmargin at screen 1 - (first + (panel_height - (panels > 1 ? 26 : 0) < 220 ? panel_height - (panels > 1 ? 26 : 0) : 220)) / real(height)
  set xrange [-0.5:0.5]
  set yrange [0:64]
  eval "set y2tics ".scale_ticks
  set y2range [0:64]
  plot data using (of_panel(0) ? 0 : NaN):(cell("y")):(-0.5):(0.5):(cell("y") - 0.5):(cell("y") + 0.55):(column("colour")) \
         with boxxyerror lc rgb variable notitle
}
unset multiplot
