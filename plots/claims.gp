# ---- claims.gp: a row a part of a claim, its bound in the middle, what is claimed to the right ----
unset key; unset grid; unset ylabel; unset label 10; unset xtics; unset ytics
set border 0
set xrange [-1.06:1.06]
set yrange [0.5:rows + 0.5]
set title offset 0,0.6
set object 1 rectangle from 0, graph 0 to 1.06, graph 1 behind fc rgb "#F1F6F4" fs solid noborder
set arrow 1 from 0, graph 0 to 0, graph 1 nohead back lc rgb "#444444" lw 1.4
at(pixels) = (left + pixels) / real(width)
set label 2 "against the claim" at screen at(panel_width / 2.0 - 8), screen 30.0 / height right tc rgb "#555555"
set label 3 "as claimed" at screen at(panel_width / 2.0 + 8), screen 30.0 / height left tc rgb "#555555"
do for [k=1:rules] {
  set arrow 10 + k from screen 12.0 / width, first rule[k] to screen 1 - 12.0 / width, first rule[k] nohead back lc rgb "#DDDDDD" lw 0.8
}
# As labels: what stands at a tick is a format to gnuplot, of at most 50 characters where it has a %.
do for [k=1:rows] {
  apart = strlen(lower[k]) > 0 ? 0.19 : 0
  set label 1000 + k claim[k] at screen 14.0 / width, first rows + 1 - k left tc rgb "#111111"
  set label 1500 + k upper[k] at screen at(-12), first rows + 1 - k + apart right tc rgb "#222222"
  set label 2000 + k lower[k] at screen at(-12), first rows + 1 - k - apart right tc rgb "#222222"
  set label 100 + k numbers[k] at screen at(panel_width + 14), first rows + 1 - k left tc rgb "#222222"
  set label 500 + k verdict[k] at screen at(panel_width + verdict_at), first rows + 1 - k left tc ls int(colour[k])
}
of(i, kind) = strcol("verdict") eq id[i] && strcol("kind") eq kind
y(i, kind) = of(i, kind) ? cell("row") : NaN
plot for [i=1:n] data using (cell("low")):(y(i, "part")):(cell("high") - cell("low")):(0) \
       with vectors nohead ls i lw 1.2 dt 1 notitle, \
     for [i=1:n] data using (cell("thick_low")):(y(i, "part")):(cell("thick_high") - cell("thick_low")):(0) \
       with vectors nohead ls i lw 4 dt 1 notitle, \
     for [i=1:n] data using (cell("x")):(y(i, "part")) with points ls i pt 7 ps 0.9 notitle, \
     for [i=1:n] data using (cell("x")):(y(i, "untested")) with points ls i pt 6 ps 0.9 notitle, \
     data using (strcol("kind") eq "bound" ? cell("x") : NaN):(cell("row") - 0.4):(0):(0.8) \
       with vectors nohead lc rgb "#444444" lw 1.4 notitle
