# A row is a part of a claim, to a scale of its own. The line in the middle is the bound of its test; right of it lies what the claim says. Dot: mean over seeds. Thin line: 95 % interval. Thick line: 90 % interval, whose end is the one-sided 95 % bound of the test. Hollow: not tested. Verdicts hold for a claim as a whole.
# Redraw in this folder with: gnuplot claims.gp   (data: claims.tsv)
# Other formats: gnuplot -e 'format="pdf"' claims.gp   (svg, pdf, png)
# TikZ, whose texts need escapes: pesuite report . --figures tikz

name = "claims"
figure_title = "claims against their bounds"
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
n = 5
legend_width = 278
array id[5] = ["reproduced at this size", "not reproduced at this size", "undecided", "not applicable", "not tested"]
array label[5] = ["reproduced at this size", "not reproduced at this size", "undecided", "not applicable", "not tested"]
set style line 1 lc rgb "#009E73" pt 7 dt 1 lw 2 ps 0.8
set style line 101 lc rgb "#99D9C7" pt 7 dt 1 lw 1 ps 0.5
set style line 2 lc rgb "#D55E00" pt 7 dt 1 lw 2 ps 0.8
set style line 102 lc rgb "#EFBF99" pt 7 dt 1 lw 1 ps 0.5
set style line 3 lc rgb "#4F5D6B" pt 7 dt 1 lw 2 ps 0.8
set style line 103 lc rgb "#B9BFC4" pt 7 dt 1 lw 1 ps 0.5
set style line 4 lc rgb "#9C9C9C" pt 7 dt 1 lw 2 ps 0.8
set style line 104 lc rgb "#D8D8D8" pt 7 dt 1 lw 1 ps 0.5
set style line 5 lc rgb "#9C9C9C" pt 7 dt 1 lw 2 ps 0.8
set style line 105 lc rgb "#D8D8D8" pt 7 dt 1 lw 1 ps 0.5
array claim[11] = ["F45a", "", "F45b", "", "", "", "", "", "F45c", "", "F45d"]
array colour[11] = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
left = 496.2
legend_height = 0
legend_width = 455.8
array lower[11] = ["", "", "", "", "", "", "", "", "", "", ""]
array numbers[11] = ["-0.026, bound +0.020 nats", "-0.015, bound +0.020 nats", "+0.030, bound 0 nats", "+0.032, bound 0 nats", "+0.032, bound 0 nats", "+0.041, bound 0 nats", "+0.043, bound 0 nats", "+0.043, bound 0 nats", "-0.002, bound +0.020 nats", "0, bound +0.020 nats", "-0.001, bound +0.020 nats"]
panel_height = 275
panel_width = 250
rows = 11
array rule[3] = [9.5, 3.5, 1.5]
rules = 3
array upper[11] = ["nll(lm_infinite, 8x) <= nll(rope, 1x)", "nll(streaming_llm, 8x) <= nll(rope, 1x)", "nll(lm_infinite, 8x) > nll(self_extend, 8x)", "nll(lm_infinite, 8x) > nll(rerope, 8x)", "nll(lm_infinite, 8x) > nll(dual_chunk, 8x)", "nll(streaming_llm, 8x) > nll(self_extend, 8x)", "nll(streaming_llm, 8x) > nll(rerope, 8x)", "nll(streaming_llm, 8x) > nll(dual_chunk, 8x)", "nll(dual_chunk, 8x) - nll(self_extend, 8x) <= 0.02", "nll(dual_chunk, 8x) - nll(rerope, 8x) <= 0.02", "nll(window, 8x) - nll(streaming_llm, 8x) <= 0.02"]
array verdict[11] = ["reproduced at this size", "", "reproduced at this size", "", "", "", "", "", "reproduced at this size", "", "reproduced at this size"]
verdict_at = 240

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

# ---- claims.gp: a row a part of a claim, its bound in the middle, what is claimed to the right ----
unset key; unset grid; unset ylabel; unset label 10; unset xtics; unset ytics
set border 0
set xrange [-1.06:1.06]
set yrange [0.5:rows + 0.5]
set title offset 0,0.6
set object 1 rectangle from 0, graph 0 to 1.06, graph 1 behind fc rgb "#F1F6F4" fs solid noborder
set arrow 1 from 0, graph 0 to 0, graph 1 nohead back lc rgb "#444444" lw 1.4
at(pixels) = (left + pixels) / real(width)
set label 2 "against the claim" at screen at(panel_width / 2.0 - 8), screen 30.0 / height right tc rgb "#555555"
set label 3 "as claimed" at screen at(panel_width / 2.0 + 8), screen 30.0 / height left tc rgb "#555555"
do for [k=1:rules] {
  set arrow 10 + k from screen 12.0 / width, first rule[k] to screen 1 - 12.0 / width, first rule[k] nohead back lc rgb "#DDDDDD" lw 0.8
}
# As labels: what stands at a tick is a format to gnuplot, of at most 50 characters where it has a %.
do for [k=1:rows] {
  apart = strlen(lower[k]) > 0 ? 0.19 : 0
  set label 1000 + k claim[k] at screen 14.0 / width, first rows + 1 - k left tc rgb "#111111"
  set label 1500 + k upper[k] at screen at(-12), first rows + 1 - k + apart right tc rgb "#222222"
  set label 2000 + k lower[k] at screen at(-12), first rows + 1 - k - apart right tc rgb "#222222"
  set label 100 + k numbers[k] at screen at(panel_width + 14), first rows + 1 - k left tc rgb "#222222"
  set label 500 + k verdict[k] at screen at(panel_width + verdict_at), first rows + 1 - k left tc ls int(colour[k])
}
of(i, kind) = strcol("verdict") eq id[i] && strcol("kind") eq kind
y(i, kind) = of(i, kind) ? cell("row") : NaN
plot for [i=1:n] data using (cell("low")):(y(i, "part")):(cell("high") - cell("low")):(0) \
       with vectors nohead ls i lw 1.2 dt 1 notitle, \
     for [i=1:n] data using (cell("thick_low")):(y(i, "part")):(cell("thick_high") - cell("thick_low")):(0) \
       with vectors nohead ls i lw 4 dt 1 notitle, \
     for [i=1:n] data using (cell("x")):(y(i, "part")) with points ls i pt 7 ps 0.9 notitle, \
     for [i=1:n] data using (cell("x")):(y(i, "untested")) with points ls i pt 6 ps 0.9 notitle, \
     data using (strcol("kind") eq "bound" ? cell("x") : NaN):(cell("row") - 0.4):(0):(0.8) \
       with vectors nohead lc rgb "#444444" lw 1.4 notitle
