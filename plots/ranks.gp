# ---- ranks.gp: mean ranks over tasks with the critical difference (Demsar 2006, figure 1) ----
unset key; unset grid; unset ytics; unset xtics; unset ylabel
set border 0
half = (n + 1) / 2
line = 1.0
span = n - 1.0
bars = 0.34 * (groups + 1)
set xrange [1 - 0.42 * span:n + 0.42 * span]
set yrange [-(bars + half * line + 0.4):(critical > 0 ? 2.1 : 0.9)]
# The axis, the best rank at the left.
set arrow from 1,0 to n,0 nohead lc rgb "#222222" lw 1.4
do for [k=1:n] {
  set arrow from k,0 to k,0.16 nohead lc rgb "#222222" lw 1.2
  set label sprintf("%d", k) at k,0.42 center tc rgb "#222222"
}
if (critical > 0) {  # else nothing is tested
  set arrow from 1,1.3 to 1 + critical,1.3 nohead lc rgb "#222222" lw 2
  set arrow from 1,1.18 to 1,1.42 nohead lc rgb "#222222" lw 1.4
  set arrow from 1 + critical,1.18 to 1 + critical,1.42 nohead lc rgb "#222222" lw 1.4
  set label sprintf("critical difference %.2f", critical) at 1,1.72 left tc rgb "#222222"
}
# Each encoding: down from its rank, and out to its name; the better half at the left.
do for [i=1:n] {
  y = -(bars + (i <= half ? i : n - i + 1) * line - 0.4)
  out = i <= half ? 1 - 0.04 * span : n + 0.04 * span
  set arrow from rank[i],0 to rank[i],y nohead ls i lw 1.6 dt 1
  set arrow from rank[i],y to out,y nohead ls i lw 1.6 dt 1
  if (i <= half) {
    set label sprintf("%s  %.2f", label[i], rank[i]) at out - 0.012 * span,y right tc rgb "#111111"
  } else {
    set label sprintf("%.2f  %s", rank[i], label[i]) at out + 0.012 * span,y left tc rgb "#111111"
  }
}
# Encodings that do not differ are joined.
do for [g=1:groups] {
  set arrow from group_from[g] - 0.012 * span,-0.34 * g to group_to[g] + 0.012 * span,-0.34 * g nohead lc rgb "#222222" lw 5
}
plot data using (cell("rank")):(0):(0) with points pt 7 ps 0.01 lc rgb "#FFFFFF" notitle
