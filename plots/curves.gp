# ---- curves.gp: validation with bands over seeds and training, faint, against steps ----
set xrange [0:1.02 * x_high]
set yrange [y_low:y_high]
if (chance == chance) {
  set arrow 1 from 0, first chance to 1.02 * x_high, first chance nohead back lc rgb "#777777" lw 1.4 dt (6,4)
}
if (infinite) { set label 1 "∞" at graph -0.02, first rise_to right tc rgb "#222222" }
finite(c) = cell(c) == cell(c)
x(i, kind) = row(i, kind) ? cell("x") : NaN

plot for [i=1:n] data using (x(i, "train")):(cell("value")) \
       with lines ls 100+i lw 1.2 dt 1 notitle, \
     for [i=1:n] data using (seeds > 1 && finite("high") ? x(i, "mean") : NaN):(cell("low")):(cell("high")) \
       with filledcurves ls i fs transparent solid 0.13 noborder notitle, \
     for [i=1:n] for [s=1:seeds] data using (of(s) ? x(i, "seed") : NaN):(cell("value")) \
       with lines ls 100+i notitle, \
     for [i=1:n] data using (x(i, "mean")):(cell("value")) \
       with linespoints ls i notitle, \
     for [i=1:n] data using (is_inf("value") ? x(i, "mean") : NaN):(rise_from):(0):(rise_to - rise_from) \
       with vectors head filled size screen 0.012,18 ls i dt 1 notitle, \
     for [i=1:n] keyentry with linespoints ls i title label[i], \
     for [i=1:(chance == chance)] keyentry with lines lc rgb "#777777" lw 1.4 dt (6,4) title "chance"
