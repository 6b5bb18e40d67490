# ---- profiles.gp: share of runs that reach at least a score (Agarwal et al. 2021, section 4.2) ----
set xrange [-0.1:1]
set yrange [0:1.02]
set xtics 0,0.2,1
set ytics 0,0.2,1
plot for [i=1:n] data using (row(i, "profile") ? cell("x") : NaN):(cell("value")) \
       with lines ls i lw 2.2 notitle, \
     for [i=1:n] data using (row(i, "mark") ? cell("x") : NaN):(cell("value")) \
       with points ls i notitle, \
     for [i=1:n] keyentry with linespoints ls i title label[i]
