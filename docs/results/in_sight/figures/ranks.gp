# Mean ranks out of distribution over 3 tasks, the best at the left. Below 5 tasks no order is tested.
# Redraw in this folder with: gnuplot ranks.gp   (data: ranks.tsv)
# Other formats: gnuplot -e 'format="pdf"' ranks.gp   (svg, pdf, png)
# TikZ, whose texts need escapes: pesuite report . --figures tikz

name = "ranks"
figure_title = "mean rank over 3 tasks"
x_label = ""
x_low = NaN
x_high = NaN
x_log = 0
x_lines = 1
y_label = ""
y_low = NaN
y_high = NaN
y_log = 0
y_lines = 1
n = 7
legend_width = 179
array id[7] = ["dual_chunk", "self_extend", "rerope", "lm_infinite", "rope", "streaming_llm", "window"]
array label[7] = ["dual_chunk", "self_extend", "rerope", "lm_infinite", "rope", "streaming_llm", "window"]
set style line 1 lc rgb "#CC79A7" pt 13 dt 1 lw 2 ps 0.8
set style line 101 lc rgb "#EBCADC" pt 13 dt 1 lw 1 ps 0.5
set style line 2 lc rgb "#D55E00" pt 5 dt 1 lw 2 ps 0.8
set style line 102 lc rgb "#EFBF99" pt 5 dt 1 lw 1 ps 0.5
set style line 3 lc rgb "#009E73" pt 9 dt 1 lw 2 ps 0.8
set style line 103 lc rgb "#99D9C7" pt 9 dt 1 lw 1 ps 0.5
set style line 4 lc rgb "#E69F00" pt 11 dt 1 lw 2 ps 0.8
set style line 104 lc rgb "#F5D999" pt 11 dt 1 lw 1 ps 0.5
set style line 5 lc rgb "#0072B2" pt 7 dt 1 lw 2 ps 0.8
set style line 105 lc rgb "#99C7E1" pt 7 dt 1 lw 1 ps 0.5
set style line 6 lc rgb "#56B4E9" pt 15 dt 1 lw 2 ps 0.8
set style line 106 lc rgb "#BCE1F7" pt 15 dt 1 lw 1 ps 0.5
set style line 7 lc rgb "#332288" pt 6 dt (12,4) lw 2 ps 0.8
set style line 107 lc rgb "#AEA7D0" pt 6 dt (12,4) lw 1 ps 0.5
critical = 0
groups = 0
left = 30
legend_height = 0
legend_width = 30
panel_height = 194
panel_width = 680
array rank[7] = [2.166666667, 2.5, 2.833333333, 4.333333333, 5.166666667, 5.333333333, 5.666666667]

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

# ---- ranks.gp: mean ranks over tasks with the critical difference (Demsar 2006, figure 1) ----
unset key; unset grid; unset ytics; unset xtics; unset ylabel
set border 0
half = (n + 1) / 2
line = 1.0
span = n - 1.0
bars = 0.34 * (groups + 1)
set xrange [1 - 0.42 * span:n + 0.42 * span]
set yrange [-(bars + half * line + 0.4):(critical > 0 ? 2.1 : 0.9)]
# The axis, the best rank at the left.
set arrow from 1,0 to n,0 nohead lc rgb "#222222" lw 1.4
do for [k=1:n] {
  set arrow from k,0 to k,0.16 nohead lc rgb "#222222" lw 1.2
  set label sprintf("%d", k) at k,0.42 center tc rgb "#222222"
}
if (critical > 0) {  # else nothing is tested
  set arrow from 1,1.3 to 1 + critical,1.3 nohead lc rgb "#222222" lw 2
  set arrow from 1,1.18 to 1,1.42 nohead lc rgb "#222222" lw 1.4
  set arrow from 1 + critical,1.18 to 1 + critical,1.42 nohead lc rgb "#222222" lw 1.4
  set label sprintf("critical difference %.2f", critical) at 1,1.72 left tc rgb "#222222"
}
# Each encoding: down from its rank, and out to its name; the better half at the left.
do for [i=1:n] {
  y = -(bars + (i <= half ? i : n - i + 1) * line - 0.4)
  out = i <= half ? 1 - 0.04 * span : n + 0.04 * span
  set arrow from rank[i],0 to rank[i],y nohead ls i lw 1.6 dt 1
  set arrow from rank[i],y to out,y nohead ls i lw 1.6 dt 1
  if (i <= half) {
    set label sprintf("%s  %.2f", label[i], rank[i]) at out - 0.012 * span,y right tc rgb "#111111"
  } else {
    set label sprintf("%.2f  %s", rank[i], label[i]) at out + 0.012 * span,y left tc rgb "#111111"
  }
}
# Encodings that do not differ are joined.
do for [g=1:groups] {
  set arrow from group_from[g] - 0.012 * span,-0.34 * g to group_to[g] + 0.012 * span,-0.34 * g nohead lc rgb "#222222" lw 5
}
plot data using (cell("rank")):(0):(0) with points pt 7 ps 0.01 lc rgb "#FFFFFF" notitle
