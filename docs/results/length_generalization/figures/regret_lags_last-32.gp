# Regret (nats per token above the optimum) against evaluation length, protocol last(32). Line: mean over 2 seeds; band: lowest to highest seed; thin lines: the seeds. Grey vertical line: training length.
# Redraw in this folder with: gnuplot regret_lags_last-32.gp   (data: regret_lags_last-32.tsv)

reset
name = "regret_lags_last-32"
figure_title = "lags · regret, last(32)"
x_lines = 1
n = 6
array id[6] = ["none", "sinusoidal", "learned", "rope", "alibi", "t5"]
array label[6] = ["none", "sinusoidal", "learned", "rope", "alibi", "t5"]
legend_width = 179
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
seeds = 2
array seed[2] = ["42", "43"]
x_label = "evaluation length (tokens, multiples of the training length)"
x_low = 57.14006799
x_high = 573.4679911
mark = 64
dodge = 0.02252728337
set xtics ("64\n1x" 64, "128\n2x" 128, "256\n4x" 256, "512\n8x" 512)
x_lines = 2
y_label = "regret (nats per token)"
optimum = 0
y_log = 1
y_low = 0.01563225164
y_high = 1.721639571
infinite = 0
rise_from = 1.796822394
rise_to = 2.639802224
below = 0
fall_from = 0.01563225164
fall_to = 0.01110499107
set ytics ("0.03" 0.03, "0.1" 0.1, "0.3" 0.3, "1" 1)
y_lines = 1

# ---- style.gp: the look that all figures share ----
set encoding utf8

# In pixels: a panel of one size, room for the ticks' lines below it and for the legend beside it.
top = 44
if (!exists("left")) { left = 96 }
if (!exists("panel_width")) { panel_width = 520 }
if (!exists("panel_height")) { panel_height = 350 }
bottom = 48 + 19 * x_lines
if (!exists("legend_height")) { legend_height = 23 * (n + 2) }
height = top + (panel_height > legend_height ? panel_height : legend_height) + bottom
width = left + panel_width + 24 + legend_width
# noenhanced: names of encodings may hold _ ^ @ and are shown as they are
set terminal svg noenhanced size width,height font "sans-serif,14" background "#ffffff"
set output name.".svg"
set lmargin at screen left / real(width)
set rmargin at screen (left + panel_width) / real(width)
set tmargin at screen 1 - top / real(height)
set bmargin at screen bottom / real(height)

set title figure_title offset 0,-0.3 tc rgb "#111111"
set label 10 x_label at screen (left + panel_width / 2.0) / width, screen 18.0 / height center tc rgb "#111111"
set ylabel y_label tc rgb "#111111"
set border 3 lc rgb "#555555" lw 1
set tics nomirror out scale 0.6 tc rgb "#222222"
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
of(s) = strcol("seed") eq seed[s]

# ---- length.gp: lines with bands over seeds against length or context, log2 x ----
set logscale x 2
set xrange [x_low:x_high]
if (y_log) { set logscale y }
set yrange [y_low:y_high]
if (mark >= x_low && mark <= x_high) {
  set arrow 1 from mark, graph 0 to mark, graph 1 nohead back lc rgb "#999999" lw 1.2
}
# Encodings stand a little beside each other, so that equal values do not hide each other.
beside(i) = exp(dodge * (i - (n + 1) / 2.0))
x(i, kind) = row(i, kind) ? cell("x") * beside(i) : NaN
# Values beyond the edges are shown there as arrows.
if (infinite) { set label 1 "∞" at graph -0.02, first rise_to right tc rgb "#222222" }
if (below)    { set label 2 "≤ 0" at graph -0.02, first fall_to right tc rgb "#222222" }
sinks(c) = y_log && !is_inf(c) && cell(c) <= 0
inside(c) = sinks(c) ? NaN : cell(c)
edge(c) = sinks(c) ? y_low : cell(c)
finite(c) = cell(c) == cell(c)
any(i) = row(i, "mean") || row(i, "seed")

plot for [i=1:n] data using (seeds > 1 && finite("high") ? x(i, "mean") : NaN):(edge("low")):(edge("high")) \
       with filledcurves ls i fs transparent solid 0.13 noborder notitle, \
     for [i=1:n] for [s=1:seeds] data using (of(s) ? x(i, "seed") : NaN):(inside("value")) \
       with lines ls 100+i notitle, \
     data using (strcol("kind") eq "optimum" ? cell("x") : NaN):(cell("value")) \
       with lines lc rgb "#000000" lw 1.8 dt (6,4) notitle, \
     for [i=1:n] data using (x(i, "mean")):(inside("value")) \
       with linespoints ls i notitle, \
     for [i=1:n] data using (any(i) && is_inf("value") ? cell("x") * beside(i) : NaN):(rise_from):(0):(rise_to - rise_from) \
       with vectors head filled size screen 0.012,18 ls i dt 1 notitle, \
     for [i=1:n] data using (any(i) && sinks("value") ? cell("x") * beside(i) : NaN):(fall_from):(0):(fall_to - fall_from) \
       with vectors head filled size screen 0.012,18 ls i dt 1 notitle, \
     for [i=1:n] keyentry with linespoints ls i title label[i], \
     for [i=1:optimum] keyentry with lines lc rgb "#000000" lw 1.8 dt (6,4) title "optimum", \
     keyentry with lines lc rgb "#999999" lw 1.2 title "training length"
