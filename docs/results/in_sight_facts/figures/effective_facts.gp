# The longest length up to which the loss stays within 0.02 nats of that at the training length; bars: the middle seed, dots: the seeds; no bar: not even at the training length. Line: training length.
# Redraw in this folder with: gnuplot effective_facts.gp   (data: effective_facts.tsv)
# Other formats: gnuplot -e 'format="pdf"' effective_facts.gp   (svg, pdf, png)
# TikZ, whose texts need escapes: pesuite report . --figures tikz

name = "effective_facts"
figure_title = "facts · effective length"
x_label = "tokens (multiples of the training length)"
x_low = 32
x_high = 563.2
x_log = 1
x_ticks = "(\"64\\n1x\" 64, \"128\\n2x\" 128, \"256\\n4x\" 256, \"512\\n8x\" 512)"
x_lines = 2
y_label = ""
y_low = NaN
y_high = NaN
y_log = 0
y_ticks = "(\"rope\" 7, \"self_extend\" 6, \"rerope\" 5, \"dual_chunk\" 4, \"lm_infinite\" 3, \"streaming_llm\" 2, \"window\" 1)"
y_lines = 1
n = 7
legend_width = 179
array id[7] = ["rope", "self_extend", "rerope", "dual_chunk", "lm_infinite", "streaming_llm", "window"]
array label[7] = ["rope", "self_extend", "rerope", "dual_chunk", "lm_infinite", "streaming_llm", "window"]
set style line 1 lc rgb "#0072B2" pt 7 dt 1 lw 2 ps 0.8
set style line 101 lc rgb "#99C7E1" pt 7 dt 1 lw 1 ps 0.5
set style line 2 lc rgb "#D55E00" pt 5 dt 1 lw 2 ps 0.8
set style line 102 lc rgb "#EFBF99" pt 5 dt 1 lw 1 ps 0.5
set style line 3 lc rgb "#009E73" pt 9 dt 1 lw 2 ps 0.8
set style line 103 lc rgb "#99D9C7" pt 9 dt 1 lw 1 ps 0.5
set style line 4 lc rgb "#CC79A7" pt 13 dt 1 lw 2 ps 0.8
set style line 104 lc rgb "#EBCADC" pt 13 dt 1 lw 1 ps 0.5
set style line 5 lc rgb "#E69F00" pt 11 dt 1 lw 2 ps 0.8
set style line 105 lc rgb "#F5D999" pt 11 dt 1 lw 1 ps 0.5
set style line 6 lc rgb "#56B4E9" pt 15 dt 1 lw 2 ps 0.8
set style line 106 lc rgb "#BCE1F7" pt 15 dt 1 lw 1 ps 0.5
set style line 7 lc rgb "#332288" pt 6 dt (12,4) lw 2 ps 0.8
set style line 107 lc rgb "#AEA7D0" pt 6 dt (12,4) lw 1 ps 0.5
left = 134
legend_height = 0
legend_width = 30
mark = 64
panel_height = 182

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

# ---- bars.gp: a bar a row, seeds as dots ----
unset key; unset grid
set grid xtics lc rgb "#DDDDDD" lt 1 lw 0.8
set yrange [0.4:n + 0.6]
set xrange [x_low:x_high]
if (x_log) { set logscale x 2 }
unset ylabel
eval "set ytics scale 0 ".y_ticks
if (mark == mark) {
  set arrow 1 from mark, graph 0 to mark, graph 1 nohead back lc rgb "#999999" lw 1.2
}
set style fill solid 0.75 noborder
at(i) = n + 1 - i
plot for [i=1:n] data using (row(i, "bar") ? cell("x") : NaN):(at(i)):(x_low):(cell("x")):(at(i) - 0.32):(at(i) + 0.32) \
       with boxxyerror ls i notitle, \
     for [i=1:n] data using (row(i, "interval") ? cell("low") : NaN):(at(i)):(cell("high") - cell("low")):(0) \
       with vectors nohead lc rgb "#222222" lw 1.4 notitle, \
     for [i=1:n] data using (row(i, "seed") ? cell("x") : NaN):(at(i)) \
       with points pt 6 ps 0.7 lc rgb "#222222" notitle
