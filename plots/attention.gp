# ---- attention.gp: panels of attention maps, query by key, and the scale of their colours ----
unset grid; unset key; unset title; unset ylabel
set label 11 figure_title at screen (left + panel_width / 2.0) / width, screen 1 - 20.0 / height center tc rgb "#111111"
set label 12 y_label at screen 20.0 / width, screen (bottom + (height - top - bottom) / 2.0) / height center rotate by 90 tc rgb "#111111"
set border 15 lw 0.6
set tics nomirror out scale 0.4 font ",10"
set palette defined (0 "#440154", 1 "#472c7a", 2 "#3b518b", 3 "#2c718e", 4 "#21908d", 5 "#27ad51", 6 "#5cc863", 7 "#aadc32", 8 "#fde725")
set logscale cb
set cbrange [0.001:1]
unset colorbox
first = top + 26
tenth = 10 ** floor(log10(last < 4 ? 1 : last / 3.0))
wanted = last / 3.0 / tenth
step = tenth * (wanted < 1.5 ? 1 : wanted < 3.5 ? 2 : wanted < 7.5 ? 5 : 10)
set format x ""; set format y ""
set xtics 0, step
set ytics 0, step
set xrange [-0.5:last + 0.5]
set yrange [last + 0.5:-0.5]
weight(c) = strlen(strcol(c)) == 0 ? NaN : column(c) < 0.001 ? 0.001 : column(c)
set multiplot
do for [p=1:panels] {
  across = (p - 1) % columns; down = (p - 1) / columns
  from = left + across * (side + gap_x); upper = first + down * (side + gap_y)
  set lmargin at screen from / real(width)
  set rmargin at screen (from + side) / real(width)
  set tmargin at screen 1 - upper / real(height)
  set bmargin at screen 1 - (upper + side) / real(height)
  set title panel[p] offset 0,-0.7 font ",12" tc rgb "#111111"
  set format y (across == 0 ? "%g" : "")
  set format x (p + columns > panels ? "%g" : "")
  if (p == panels) {
    set colorbox user origin (left + panel_width + 18.0) / width, 1 - (first + side) / real(height) size 14.0 / width, side / real(height)
    set cbtics ("0.001" 0.001, "0.01" 0.01, "0.1" 0.1, "1" 1) font ",10"
  }
  plot data every ::((p - 1) * points * points)::(p * points * points - 1) \
         using (cell("key")):(cell("query")):(weight("weight")) with image notitle
  unset label 10; unset label 11; unset label 12
}
unset multiplot
