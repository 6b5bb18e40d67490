# Left: loss at the training length. Then, for each task: change of loss (nats per token) from the training length. Grey band: changes of less than 0.02 nats, which do not matter. Filled: mean over 8 seeds. Thick: shown to hold to the longest length.
# Redraw in this folder with: gnuplot answer.gp   (data: answer.tsv)
# Other formats: gnuplot -e 'format="pdf"' answer.gp   (svg, pdf, png)
# TikZ, whose texts need escapes: pesuite report . --figures tikz

name = "answer"
figure_title = "change of loss over length"
x_label = ""
x_low = NaN
x_high = NaN
x_log = 0
x_lines = 1
y_label = "change of loss (nats per token)"
y_low = -0.1164750601
y_high = 0.9746590745
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
further = 0
gap = 76
left = 120
legend_height = 0
legend_width = 0
matters = 0.02
array panel[1] = ["facts"]
panel_height = 250
array panel_high[1] = [512]
array panel_low[1] = [64]
array panel_ticks[1] = ["(\"64\\n1x\" 64, \"128\\n2x\" 128, \"256\\n4x\" 256, \"512\\n8x\" 512)"]
panel_width = 682.8
panels = 1
ratio = 1
start_best = 0.00024693027
start_high = 0.0222516137
start_label = "nats above the optimum"
start_low = -0.02016411382
start_rows = 7
start_step = 0.01
start_title = "facts at 64"
start_width = 190
array tag[7] = ["rope +0.92", "self_extend -0.06", "rerope -0.06", "dual_chunk -0.06", "lm_infinite -0.03", "streaming_llm -0.02", "window -0.02"]
array tag_at[7] = [0.9464285714, 0.136, 0, 0.068, 0.204, 0.34, 0.272]
array tag_from[7] = [0.9464285714, 0.05493407777, 0.05357142857, 0.05358233452, 0.083019, 0.09264904607, 0.09189332857]
tag_width = 166.8
task_width = 250
array weight[7] = [1.5, 3, 3, 3, 3, 3, 3]
x_lines = 2

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

# ---- answer.gp: where encodings start, then the change over length, a panel a task ----
unset grid; unset title; unset ylabel; unset key; unset label 10
# Left: a row an encoding.
set multiplot
set lmargin at screen left / real(width)
set rmargin at screen (left + start_width) / real(width)
set title start_title offset 0,-0.4 font ",12" tc rgb "#111111"
set xrange [start_low:start_high]
set yrange [0.3:start_rows + 0.7]
eval "set ytics scale 0 ".y_ticks
set xtics start_step font ",11"
set format x "%g"
set label 11 start_label at screen (left + start_width / 2.0) / width, screen 18.0 / height center font ",12" tc rgb "#111111"
set object 1 rectangle from start_best, graph 0 to (ratio ? start_best + matters : start_best - matters), graph 1 behind fc rgb "#EEEEEE" fs solid noborder
of_panel(p, i, kind) = column("panel") == p && row(i, kind)
plot for [i=1:n] data using (of_panel(0, i, "seed") ? cell("x") : NaN):(cell("value")) with points ls 100+i pt 6 ps 0.7 notitle, \
     for [i=1:n] data using (of_panel(0, i, "mean") ? cell("x") : NaN):(cell("value")) with points ls i ps 1 notitle, \
     for [i=1:spoken] data using (of_panel(0, i, "mean") ? cell("x") : NaN):(cell("value")):(sprintf("%s: %.4g", id[i], cell("x"))) \
       with labels hypertext point pt 7 ps 1.6 lc rgb "#FF000000" notitle
unset object 1; unset label 11
set label 10 "tokens (multiples of the training length)" at screen (left + start_width + gap + (panels * (task_width + tag_width) - tag_width) / 2.0) / width, screen 18.0 / height center font ",12" tc rgb "#111111"
set logscale x 2
set format x "%g"
set yrange [y_low:y_high]
set ytics autofreq scale 0.6 font ",11"
do for [p=1:panels] {
  from = left + start_width + gap + (p - 1) * (task_width + tag_width)
  set lmargin at screen from / real(width)
  set rmargin at screen (from + task_width) / real(width)
  set title panel[p] offset 0,-0.4 font ",12" tc rgb "#111111"
  set xrange [panel_low[p]:panel_high[p] * 1.02]
  eval "set xtics ".panel_ticks[p]." font ',11'"
  if (p == 1) { set label 12 y_label at screen (from - 56.0) / width, screen (bottom + panel_height / 2.0) / height center rotate by 90 font ",12" tc rgb "#111111" } else { set format y "" }
  set object 2 rectangle from panel_low[p], graph 0 to panel_high[p] * 1.02, graph 1 behind fc rgb "#F6F6F6" fs solid noborder
  set object 3 rectangle from panel_low[p], -matters to panel_high[p] * 1.02, matters behind fc rgb "#DDDDDD" fs solid noborder
  set arrow 1 from panel_low[p], 0 to panel_high[p] * 1.02, 0 nohead back lc rgb "#999999" lw 1
  set label 13 (further ? "beyond the training length" : "never trained") at graph 0.03, graph 0.96 left font ",10" tc rgb "#888888"
  do for [i=1:n] {
    k = (p - 1) * n + i
    set label 100 + i tag[k] at screen (from + task_width + 20.0) / width, graph tag_at[k] left font ",12" tc ls i
    if (strlen(tag[k]) > 0) {
      set arrow 100 + i from graph 1 + 2.0 / task_width, graph tag_from[k] to graph 1 + 17.0 / task_width, graph tag_at[k] nohead ls i lw 0.8 dt 1
    } else { unset arrow 100 + i }
  }
  plot for [i=1:n] data using (of_panel(p, i, "seed") ? cell("x") : NaN):(cell("value")) with points ls 100+i pt 6 ps 0.5 notitle, \
       for [i=1:n] data using (of_panel(p, i, "mean") ? cell("x") : NaN):(cell("value")) with linespoints ls i lw weight[(p - 1) * n + i] dt 1 ps 0.6 notitle, \
       for [i=1:spoken] data using (of_panel(p, i, "mean") ? cell("x") : NaN):(cell("value")):(says(i, at_x(""))) \
         with labels hypertext point pt 7 ps 1.6 lc rgb "#FF000000" notitle
  unset label 12; unset label 10
}
unset multiplot
