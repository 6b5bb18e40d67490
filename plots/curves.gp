# ---- curves.gp: validation over seeds and training, faint, against steps and tokens ----
set xrange [0:x_high]
set yrange [y_low:y_high]
if (y_log) { set logscale y }
if (chance == chance) {
  set arrow 1 from 0, first chance to x_high, first chance nohead back lc rgb "#777777" lw 1.4 dt (6,4)
  set label 5 "chance" at x_high, first chance right offset 0,0.5 font ",11" tc rgb "#777777"
}
if (optimum == optimum) {
  set arrow 2 from 0, first optimum to x_high, first optimum nohead back lc rgb "#000000" lw 1.4 dt (6,4)
  set label 6 "optimum" at x_high, first optimum right offset 0,0.5 font ",11" tc rgb "#222222"
}
if (infinite) { set label 1 "∞" at graph -0.02, first rise_to right tc rgb "#222222" }
if (exists("top_ticks")) { set x2range [0:x_high]; eval "set x2tics ".top_ticks; set title offset 0,0.6 }
finite(c) = cell(c) == cell(c)
x(i, kind) = row(i, kind) ? cell("x") : NaN

plot for [i=1:n] data using (x(i, "train")):(cell("value")) \
       with points ls 100+i pt 7 ps 0.22 notitle, \
     for [i=1:n] data using (x(i, "smooth")):(cell("value")) \
       with lines ls 100+i lw 1.2 dt 1 notitle, \
     for [i=1:n] data using (finite("high") ? x(i, "mean") : NaN):(cell("low")):(cell("high")) \
       with filledcurves ls i fs transparent solid 0.13 noborder notitle, \
     for [i=1:n] data using (x(i, "seed")):(cell("value")) \
       with points ls 100+i ps 0.45 notitle, \
     for [i=1:n] data using (x(i, "mean")):(cell("value")) \
       with linespoints ls i notitle, \
     for [i=1:n] data using (is_inf("value") ? x(i, "mean") : NaN):(rise_from):(0):(rise_to - rise_from) \
       with vectors head filled size screen 0.012,18 ls i dt 1 notitle, \
     for [i=1:spoken] data using (x(i, "mean")):(cell("value")):(says(i, at_x(" steps")).between("low", "high")) \
       with labels hypertext point pt 7 ps 1.6 lc rgb "#FF000000" notitle
