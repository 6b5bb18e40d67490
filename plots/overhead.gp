# ---- overhead.gp: bars from zero, their intervals, and what they say at their ends ----
unset key; unset grid; unset ylabel
set grid xtics lc rgb "#DDDDDD" lt 1 lw 0.8
set border 1
set yrange [0.4:n + 0.6]
set xrange [x_low:x_high]
eval "set ytics scale 0 ".y_ticks
set arrow 1 from 0, graph 0 to 0, graph 1 nohead back lc rgb "#555555" lw 1.2
set style fill solid 0.75 noborder
half = 0.44
do for [k=1:bars] {
  set label 100 + k note[k] at graph 1, first note_at[k] left offset 1.2,0 tc rgb "#222222"
}
plot for [i=1:n] data using (row(i, "bar") ? cell("x") : NaN):(cell("y")):(0):(cell("x")):(cell("y") - half * cell("height")):(cell("y") + half * cell("height")) \
       with boxxyerror ls i notitle, \
     for [i=1:n] data using (row(i, "bar") ? cell("low") : NaN):(cell("y")):(cell("high") - cell("low")):(0) \
       with vectors nohead lc rgb "#222222" lw 1.4 notitle, \
     for [i=1:n] data using (row(i, "measurement") ? cell("x") : NaN):(cell("y")) \
       with points pt 6 ps 0.7 lc rgb "#222222" notitle
