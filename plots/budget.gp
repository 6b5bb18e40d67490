# ---- budget.gp: loss against what training spent, log x, with fitted power laws ----
set logscale x
set xrange [x_low:x_high]
if (y_log) { set logscale y }
set yrange [y_low:y_high]
if (infinite) { set label 1 "∞" at graph -0.02, first rise_to right tc rgb "#222222" }
finite(c) = cell(c) == cell(c)
x(i, kind) = row(i, kind) ? cell("x") : NaN
plot for [i=1:n] data using (finite("high") ? x(i, "mean") : NaN):(cell("low")):(cell("high")) \
       with filledcurves ls i fs transparent solid 0.13 noborder notitle, \
     for [i=1:n] data using (x(i, "fit")):(cell("value")) with lines ls 100+i lw 1.6 dt 1 notitle, \
     for [i=1:n] data using (joined[i] ? x(i, "mean") : NaN):(cell("value")) with lines ls i dt 1 notitle, \
     for [i=1:n] data using (x(i, "seed")):(cell("value")) with points ls 100+i ps 0.45 notitle, \
     for [i=1:n] data using (x(i, "mean")):(cell("value")) with points ls i notitle, \
     for [i=1:n] data using (is_inf("value") ? x(i, "mean") : NaN):(rise_from):(0):(rise_to - rise_from) \
       with vectors head filled size screen 0.012,18 ls i dt 1 notitle, \
     for [i=1:spoken] data using (x(i, "mean")):(cell("value")):(says(i, at_x("")).between("low", "high")) \
       with labels hypertext point pt 7 ps 1.6 lc rgb "#FF000000" notitle
