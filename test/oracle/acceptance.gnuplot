# The caller sets the terminal, the output and `data`, the file with the numbers (make acceptance). Colours: Okabe and Ito. Modes that lie on top of each other can be told:
# what is drawn first is wider, and points stand on every sixth value only, for each mode beginning elsewhere.

array name[10] = ["demand", "density", "rta", "hyperbolic", "liu-layland", "necessary", \
                  "gfb-2", "gfb-4", "bandwidth-2", "bandwidth-4"]
array shown[10] = ["edf demand", "edf density", "rm rta", "rm hyperbolic", "rm liu-layland", "rm necessary", \
                   "edf gfb, 2 CPUs", "edf gfb, 4 CPUs", "edf bandwidth, 2 CPUs", "edf bandwidth, 4 CPUs"]

set linetype 1  lw 2 pt 5  lc rgb "#0072B2"
set linetype 2  lw 2 pt 4  lc rgb "#0072B2" dt (12,5)
set linetype 3  lw 2 pt 7  lc rgb "#D55E00"
set linetype 4  lw 2 pt 6  lc rgb "#D55E00" dt (12,5)
set linetype 5  lw 2 pt 8  lc rgb "#D55E00" dt (3,4)
set linetype 6  lw 2 pt 2  lc rgb "#000000" dt (3,6)
set linetype 7  lw 2 pt 9  lc rgb "#009E73"
set linetype 8  lw 2 pt 10 lc rgb "#009E73" dt (12,5)
set linetype 9  lw 9 pt 13 lc rgb "#EBC6DB"
set linetype 10 lw 5 pt 12 lc rgb "#CC79A7"

set xrange [0.4:1.05]
set yrange [0:1.03]
set xtics 0.1
set ytics 0.2
set grid lc rgb "#dddddd" lt 1 lw 1
set border 3
set tics nomirror
set xlabel "utilization of each CPU"
set pointsize 0.7
set key off

set multiplot
set ylabel "task sets admitted"
set lmargin at screen 0.07
set rmargin at screen 0.395
set bmargin at screen 0.13
set tmargin at screen 0.91
set title "deadline = period"
set label 1 "one line, up to 1:\ndemand, density,\nnecessary, bandwidth" at 0.42, 0.35 left
plot for [i in "9 10 1 2 3 4 5 6 7 8"] data index 0 using "utilization":name[int(i)] with lines lt int(i), \
     for [i = 1:10] data index 0 using "utilization":name[i] every 6::(i % 6) with points lt i lw 1

unset ylabel
set format y ""
set lmargin at screen 0.43
set rmargin at screen 0.76
set title "deadline between half the period and the period"
set label 1 "Right: no guarantee by rm's\nhyperbolic, liu-layland and\nnecessary." at screen 0.775, 0.34 left
set label 2 "8 tasks for each CPU, threshold=1,\n992 sets for each point" at screen 0.775, 0.19 left
set key at screen 0.99, 0.9 right top Left reverse samplen 3 spacing 1.3
plot for [i in "9 10 1 2 3 7 8"] data index 1 using "utilization":name[int(i)] with lines lt int(i) notitle, \
     for [i in "9 10 1 2 3 7 8"] data index 1 using "utilization":name[int(i)] every 6::(int(i) % 6) \
         with points lt int(i) lw 1 notitle, \
     for [i = 1:10] keyentry with linespoints lt i title shown[i]
unset multiplot
