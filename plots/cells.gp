# ---- cells.gp: panels of coloured cells with their values, and the scale of the colours ----
unset grid; unset key; unset title
set label 11 figure_title at screen (left + panel_width / 2.0) / width, screen 1 - 20.0 / height center tc rgb "#111111"
set label 12 y_label at screen 20.0 / width, screen (bottom + (height - top - bottom) / 2.0) / height center rotate by 90 tc rgb "#111111"
unset ylabel
set border 0
set tics scale 0
set style fill solid 1.0 noborder
gap_x = 16; gap_y = 34
first = top + (panels > 1 ? 26 : 0)
cell_width = (panel_width - gap_x * (columns - 1)) / real(columns)
cell_height = (panel_height - gap_y * (rows - 1) - (panels > 1 ? 26 : 0)) / real(rows)
of_panel(p) = column("panel") == p
set multiplot
do for [p=1:panels] {
  across = (p - 1) % columns; down = (p - 1) / columns
  from = left + across * (cell_width + gap_x); upper = first + down * (cell_height + gap_y)
  set lmargin at screen from / width
  set rmargin at screen (from + cell_width) / width
  set tmargin at screen 1 - upper / real(height)
  set bmargin at screen 1 - (upper + cell_height) / real(height)
  if (panels > 1) { set title panel[p] offset 0,-0.6 tc rgb "#111111" }
  if (across == 0) { eval "set ytics scale 0 ".y_ticks." tc rgb '#222222'" } else { unset ytics }
  if (p + columns > panels) { eval "set xtics scale 0 ".x_ticks." tc rgb '#222222'" } else { unset xtics }
  set xrange [x_low:x_high]
  set yrange [y_low:y_high]
  plot data using (of_panel(p) ? cell("x") : NaN):(cell("y")):(cell("x") - cell("half_width")):(cell("x") + cell("half_width")):(cell("y") - 0.48):(cell("y") + 0.48):(column("colour")) \
         with boxxyerror lc rgb variable notitle, \
       data using (of_panel(p) && strlen(strcol("text")) > 0 ? cell("x") : NaN):(cell("y")):(strcol("text")):(column("text_colour")) \
         with labels font ",11" tc rgb variable notitle
  unset label 10; unset label 11; unset label 12
}
if (scale) {
  unset title; unset xtics; unset ytics
  set lmargin at screen (left + panel_width + 22.0) / width
  set rmargin at screen (left + panel_width + 36.0) / width
  set tmargin at screen 1 - first / real(height)
  set bmargin at screen 1 - (first + (panel_height - (panels > 1 ? 26 : 0) < 220 ? panel_height - (panels > 1 ? 26 : 0) : 220)) / real(height)
  set xrange [-0.5:0.5]
  set yrange [0:64]
  eval "set y2tics ".scale_ticks
  set y2range [0:64]
  plot data using (of_panel(0) ? 0 : NaN):(cell("y")):(-0.5):(0.5):(cell("y") - 0.5):(cell("y") + 0.55):(column("colour")) \
         with boxxyerror lc rgb variable notitle
}
unset multiplot
