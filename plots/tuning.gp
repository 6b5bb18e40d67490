# ---- tuning.gp: loss of each attempt against its learning rate; hollow: settings of the encoding's own ----
set logscale x
set xrange [x_low:x_high]
if (y_log) { set logscale y }
set yrange [y_low:y_high]
if (infinite) { set label 1 "∞" at graph -0.02, first rise_to right tc rgb "#222222" }
x(i, kind) = row(i, kind) ? cell("x") : NaN
plot for [i=1:n] data using (x(i, "mean")):(cell("value")) with lines ls i dt 1 notitle, \
     for [i=1:n] data using (x(i, "mean")):(cell("value")) with points ls i ps 0.7 notitle, \
     for [i=1:n] data using (is_inf("value") ? x(i, "mean") : NaN):(rise_from):(0):(rise_to - rise_from) \
       with vectors head filled size screen 0.012,18 ls i dt 1 notitle, \
     for [i=1:n] data using (x(i, "own")):(cell("value")) with points ls 100+i pt 6 ps 1 lw 1.4 notitle, \
     for [i=1:n] data using (x(i, "chosen")):(cell("value")) with points ls i pt 6 ps 2 lw 1.4 dt 1 notitle, \
     for [i=1:spoken] data using (x(i, "mean")):(cell("value")):(says(i, at_x(""))) \
       with labels hypertext point pt 7 ps 1.6 lc rgb "#FF000000" notitle
