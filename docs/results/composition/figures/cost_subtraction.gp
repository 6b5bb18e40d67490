# Accuracy (%) at 23 (1.64x) against tokens per second in training (median over seeds; cells shared the machine). Dashed: nobody is both faster and better.
# Redraw in this folder with: gnuplot cost_subtraction.gp   (data: cost_subtraction.tsv)
# Other formats: gnuplot -e 'format="pdf"' cost_subtraction.gp   (svg, pdf, png)
# TikZ, whose texts need escapes: pesuite report . --figures tikz

name = "cost_subtraction"
figure_title = "subtraction · quality against speed"
x_label = "tokens per second in training"
x_low = 42810.09766
x_high = 44484.96397
x_log = 0
x_ticks = "(\"42.8k\" 42810.09766, \"43.2k\" 43228.81424, \"43.6k\" 43647.53082, \"44.1k\" 44066.24739, \"44.5k\" 44484.96397)"
x_lines = 1
y_label = "accuracy (%)"
y_low = 0.07142857143
y_high = 22.07142857
y_log = 0
y_lines = 1
n = 5
legend_width = 179
array id[5] = ["none", "t5", "alibi", "rope", "sinusoidal"]
array label[5] = ["none", "t5", "alibi", "rope", "sinusoidal"]
set style line 1 lc rgb "#7F7F7F" pt 12 dt (12,4) lw 2 ps 0.8
set style line 101 lc rgb "#CCCCCC" pt 12 dt (12,4) lw 1 ps 0.5
set style line 2 lc rgb "#009E73" pt 9 dt 1 lw 2 ps 0.8
set style line 102 lc rgb "#99D9C7" pt 9 dt 1 lw 1 ps 0.5
set style line 3 lc rgb "#D55E00" pt 5 dt 1 lw 2 ps 0.8
set style line 103 lc rgb "#EFBF99" pt 5 dt 1 lw 1 ps 0.5
set style line 4 lc rgb "#0072B2" pt 7 dt 1 lw 2 ps 0.8
set style line 104 lc rgb "#99C7E1" pt 7 dt 1 lw 1 ps 0.5
set style line 5 lc rgb "#CC79A7" pt 13 dt 1 lw 2 ps 0.8
set style line 105 lc rgb "#EBCADC" pt 13 dt 1 lw 1 ps 0.5
below = 0
array end[5] = [0.6482683983, 0.3852813853, 0.5054112554, 0.3376623377, 0.6623376623]
fall_from = 0.07142857143
fall_to = -1.528571429
infinite = 0
array label_at[5] = [0.6295887446, 0.3871861472, 0.5054112554, 0.3357575758, 0.681017316]
panel_height = 350
rise_from = 22.27142857
rise_to = 24.07142857

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

# ---- scatter.gp: a point an encoding, named; what is better on both axes is up and right, or as the caption says ----
unset key
set grid xtics ytics lc rgb "#DDDDDD" lt 1 lw 0.8
set xrange [x_low:x_high]
set yrange [y_low:y_high]
plot for [i=1:n] data using (row(i, "interval") ? cell("x") : NaN):(cell("low")):(0):(cell("high") - cell("low")) \
       with vectors nohead ls i lw 1.4 dt 1 notitle, \
     for [i=1:n] data using (row(i, "frontier") || row(i, "mean") ? cell("x") : NaN):(cell("value")) \
       with points ls i ps 1.1 notitle, \
     data using (strcol("kind") eq "line" ? cell("x") : NaN):(cell("value")) \
       with lines lc rgb "#999999" lw 1.2 dt (6,4) notitle, \
     for [i=1:spoken] data using (row(i, "frontier") || row(i, "mean") ? cell("x") : NaN):(cell("value")):(says(i, at_x("")).between("low", "high")) \
       with labels hypertext point pt 7 ps 1.6 lc rgb "#FF000000" notitle
