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
