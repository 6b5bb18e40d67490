# ---- scatter.gp: a point an encoding, named; what is better on both axes is up and right, or as the caption says ----
unset key
set grid xtics ytics lc rgb "#DDDDDD" lt 1 lw 0.8
set xrange [x_low:x_high]
set yrange [y_low:y_high]
plot for [i=1:n] data using (row(i, "interval") ? cell("x") : NaN):(cell("low")):(0):(cell("high") - cell("low")) \
       with vectors nohead ls i lw 1.4 dt 1 notitle, \
     for [i=1:n] data using (row(i, "frontier") || row(i, "mean") ? cell("x") : NaN):(cell("value")) \
       with points ls i ps 1.1 notitle, \
     data using (strcol("kind") eq "line" ? cell("x") : NaN):(cell("value")) \
       with lines lc rgb "#999999" lw 1.2 dt (6,4) notitle, \
     for [i=1:spoken] data using (row(i, "frontier") || row(i, "mean") ? cell("x") : NaN):(cell("value")):(says(i, at_x("")).between("low", "high")) \
       with labels hypertext point pt 7 ps 1.6 lc rgb "#FF000000" notitle
