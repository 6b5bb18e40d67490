# ---- answer.gp: where encodings start, then the change over length, a panel a task ----
unset grid; unset title; unset ylabel; unset key; unset label 10
# Left: a row an encoding.
set multiplot
set lmargin at screen left / real(width)
set rmargin at screen (left + start_width) / real(width)
set title start_title offset 0,-0.4 font ",12" tc rgb "#111111"
set xrange [start_low:start_high]
set yrange [0.3:start_rows + 0.7]
eval "set ytics scale 0 ".y_ticks
set xtics start_step font ",11"
set format x "%g"
set label 11 start_label at screen (left + start_width / 2.0) / width, screen 18.0 / height center font ",12" tc rgb "#111111"
set object 1 rectangle from start_best, graph 0 to (ratio ? start_best + matters : start_best - matters), graph 1 behind fc rgb "#EEEEEE" fs solid noborder
of_panel(p, i, kind) = column("panel") == p && row(i, kind)
plot for [i=1:n] data using (of_panel(0, i, "seed") ? cell("x") : NaN):(cell("value")) with points ls 100+i pt 6 ps 0.7 notitle, \
     for [i=1:n] data using (of_panel(0, i, "mean") ? cell("x") : NaN):(cell("value")) with points ls i ps 1 notitle, \
     for [i=1:spoken] data using (of_panel(0, i, "mean") ? cell("x") : NaN):(cell("value")):(sprintf("%s: %.4g", id[i], cell("x"))) \
       with labels hypertext point pt 7 ps 1.6 lc rgb "#FF000000" notitle
unset object 1; unset label 11
set label 10 "tokens (multiples of the training length)" at screen (left + start_width + gap + (panels * (task_width + tag_width) - tag_width) / 2.0) / width, screen 18.0 / height center font ",12" tc rgb "#111111"
set logscale x 2
set format x "%g"
set yrange [y_low:y_high]
set ytics autofreq scale 0.6 font ",11"
do for [p=1:panels] {
  from = left + start_width + gap + (p - 1) * (task_width + tag_width)
  set lmargin at screen from / real(width)
  set rmargin at screen (from + task_width) / real(width)
  set title panel[p] offset 0,-0.4 font ",12" tc rgb "#111111"
  set xrange [panel_low[p]:panel_high[p] * 1.02]
  eval "set xtics ".panel_ticks[p]." font ',11'"
  if (p == 1) { set label 12 y_label at screen (from - 56.0) / width, screen (bottom + panel_height / 2.0) / height center rotate by 90 font ",12" tc rgb "#111111" } else { set format y "" }
  set object 2 rectangle from panel_low[p], graph 0 to panel_high[p] * 1.02, graph 1 behind fc rgb "#F6F6F6" fs solid noborder
  set object 3 rectangle from panel_low[p], -matters to panel_high[p] * 1.02, matters behind fc rgb "#DDDDDD" fs solid noborder
  set arrow 1 from panel_low[p], 0 to panel_high[p] * 1.02, 0 nohead back lc rgb "#999999" lw 1
  set label 13 (further ? "beyond the training length" : "never trained") at graph 0.03, graph 0.96 left font ",10" tc rgb "#888888"
  do for [i=1:n] {
    k = (p - 1) * n + i
    set label 100 + i tag[k] at screen (from + task_width + 20.0) / width, graph tag_at[k] left font ",12" tc ls i
    if (strlen(tag[k]) > 0) {
      set arrow 100 + i from graph 1 + 2.0 / task_width, graph tag_from[k] to graph 1 + 17.0 / task_width, graph tag_at[k] nohead ls i lw 0.8 dt 1
    } else { unset arrow 100 + i }
  }
  plot for [i=1:n] data using (of_panel(p, i, "seed") ? cell("x") : NaN):(cell("value")) with points ls 100+i pt 6 ps 0.5 notitle, \
       for [i=1:n] data using (of_panel(p, i, "mean") ? cell("x") : NaN):(cell("value")) with linespoints ls i lw weight[(p - 1) * n + i] dt 1 ps 0.6 notitle, \
       for [i=1:spoken] data using (of_panel(p, i, "mean") ? cell("x") : NaN):(cell("value")):(says(i, at_x(""))) \
         with labels hypertext point pt 7 ps 1.6 lc rgb "#FF000000" notitle
  unset label 12; unset label 10
}
unset multiplot
