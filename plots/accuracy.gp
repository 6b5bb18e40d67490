# ---- accuracy.gp: accuracy at settings with whiskers and chance; encodings side by side ----
set xrange [0.5:settings + 0.5]
set yrange [-2:102]
set ytics 0,20,100
set xtics scale 0
do for [k=1:settings - 1] {
  set arrow k from k + 0.5, graph 0 to k + 0.5, graph 1 nohead back lc rgb "#DDDDDD" lw 0.8
}
x(i, kind) = row(i, kind) ? cell("x") + (i - (n + 1) / 2.0) * 0.76 / n : NaN

plot data using (strcol("kind") eq "chance" ? cell("x") - 0.5 : NaN):(cell("value")):(1):(0) \
       with vectors nohead lc rgb "#777777" lw 1.4 dt (6,4) notitle, \
     for [i=1:connected*n] data using (x(i, "mean")):(cell("value")) \
       with lines ls 100+i notitle, \
     for [i=1:n] data using (x(i, "mean")):(cell("low")):(0):(cell("high") - cell("low")) \
       with vectors nohead ls i lw 1.6 dt 1 notitle, \
     for [i=1:n] data using (x(i, "seed")):(cell("value")) \
       with points ls 100+i notitle, \
     for [i=1:n] data using (x(i, "mean")):(cell("value")) \
       with points ls i notitle, \
     for [i=1:spoken] data using (row(i, "seed") ? x(i, "seed") : x(i, "mean")):(cell("value")):(says(i, " at ".strcol("setting")).between("low", "high").of_seed("seed")) \
       with labels hypertext point pt 7 ps 1.6 lc rgb "#FF000000" notitle, \
     for [i=1:n] keyentry with points ls i title label[i], \
     for [i=1:chance] keyentry with lines lc rgb "#777777" lw 1.4 dt (6,4) title "chance"
