# ---- bars.gp: a bar a row, seeds as dots ----
unset key; unset grid
set grid xtics lc rgb "#DDDDDD" lt 1 lw 0.8
set yrange [0.4:n + 0.6]
set xrange [x_low:x_high]
if (x_log) { set logscale x 2 }
unset ylabel
eval "set ytics scale 0 ".y_ticks
if (mark == mark) {
  set arrow 1 from mark, graph 0 to mark, graph 1 nohead back lc rgb "#999999" lw 1.2
}
set style fill solid 0.75 noborder
at(i) = n + 1 - i
plot for [i=1:n] data using (row(i, "bar") ? cell("x") : NaN):(at(i)):(x_low):(cell("x")):(at(i) - 0.32):(at(i) + 0.32) \
       with boxxyerror ls i notitle, \
     for [i=1:n] data using (row(i, "interval") ? cell("low") : NaN):(at(i)):(cell("high") - cell("low")):(0) \
       with vectors nohead lc rgb "#222222" lw 1.4 notitle, \
     for [i=1:n] data using (row(i, "seed") ? cell("x") : NaN):(at(i)) \
       with points pt 6 ps 0.7 lc rgb "#222222" notitle
