# Regret (nats per token above the optimum) against evaluation length, protocol sliding(16). Line: mean over 8 seeds; band: 95 % t interval of the mean. Tinted: longer than any training sequence. Arrows at the lower edge: zero or below.
# Redraw in this folder with: gnuplot regret_facts_sliding-16.gp   (data: regret_facts_sliding-16.tsv)
# Other formats: gnuplot -e 'format="pdf"' regret_facts_sliding-16.gp   (svg, pdf, png)
# TikZ, whose texts need escapes: pesuite report . --figures tikz

name = "regret_facts_sliding-16"
figure_title = "facts · regret, sliding(16)"
x_label = "evaluation length (tokens, multiples of the training length)"
x_low = 59.5341148
x_high = 550.4071088
x_log = 1
x_ticks = "(\"64\\n1x\" 64, \"128\\n2x\" 128, \"256\\n4x\" 256, \"512\\n8x\" 512)"
x_lines = 2
y_label = "regret (nats per token)"
y_low = 2.121787676e-06
y_high = 2.476618497
y_log = 1
y_ticks = "(\"10⁻⁵\" 1e-05, \"10⁻⁴\" 0.0001, \"0.001\" 0.001, \"0.01\" 0.01, \"0.1\" 0.1, \"1\" 1)"
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
below = 1
array end[7] = [0.9332367119, 0.5024789154, 0.3529833298, 0.3551116809, 0.6896671975, 0.7097545906, 0.7083667312]
fall_from = 6.103269543e-06
fall_to = 2.386087891e-06
further = 0
infinite = 0
array label_at[7] = [0.9332367119, 0.5024789154, 0.3283332196, 0.379761791, 0.6511676017, 0.7540247445, 0.7025961731]
mark = 64
optimum = 0
panel_height = 350
rise_from = 2.785118169
rise_to = 8.011323227

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

# ---- length.gp: lines over seeds against length or context, log2 x ----
set logscale x 2
set xrange [x_low:x_high]
if (y_log) { set logscale y }
set yrange [y_low:y_high]
# Beyond the training length: tinted.
if (mark >= x_low && mark < x_high) {
  set object 1 rectangle from mark, graph 0 to x_high, graph 1 behind fc rgb "#F4F4F4" fs solid noborder
  set arrow 1 from mark, graph 0 to mark, graph 1 nohead back lc rgb "#999999" lw 1.2
  set label 3 (further ? "beyond the training length" : "never trained") at mark, graph 0.97 left offset 0.5,0 font ",11" tc rgb "#777777"
}
x(i, kind) = row(i, kind) ? cell("x") : NaN
# Values beyond the edges are shown there as arrows.
if (infinite) { set label 1 "∞" at graph -0.02, first rise_to right tc rgb "#222222" }
if (below)    { set label 2 "≤ 0" at graph -0.02, first fall_to right tc rgb "#222222" }
sinks(c) = y_log && !is_inf(c) && cell(c) <= 0
inside(c) = sinks(c) ? NaN : cell(c)
edge(c) = sinks(c) ? y_low : cell(c)
finite(c) = cell(c) == cell(c)
any(i) = row(i, "mean") || row(i, "seed")
if (optimum) { set label 4 "dashed: optimum" at graph after(22), graph -0.06 left font ",11" tc rgb "#222222" }

plot for [i=1:n] data using (finite("high") ? x(i, "mean") : NaN):(edge("low")):(edge("high")) \
       with filledcurves ls i fs transparent solid 0.13 noborder notitle, \
     data using (strcol("kind") eq "optimum" ? cell("x") : NaN):(cell("value")) \
       with lines lc rgb "#000000" lw 1.8 dt (6,4) notitle, \
     for [i=1:n] data using (x(i, "seed")):(inside("value")) \
       with points ls 100+i ps 0.45 notitle, \
     for [i=1:n] data using (x(i, "mean")):(inside("value")) \
       with linespoints ls i notitle, \
     for [i=1:n] data using (any(i) && is_inf("value") ? cell("x") : NaN):(rise_from):(0):(rise_to - rise_from) \
       with vectors head filled size screen 0.012,18 ls i dt 1 notitle, \
     for [i=1:n] data using (any(i) && sinks("value") ? cell("x") : NaN):(fall_from):(0):(fall_to - fall_from) \
       with vectors head filled size screen 0.012,18 ls i dt 1 notitle, \
     for [i=1:spoken] data using (any(i) ? cell("x") : NaN):(inside("value")):(says(i, at_x("")).between("low", "high").of_seed("seed")) \
       with labels hypertext point pt 7 ps 1.6 lc rgb "#FF000000" notitle
