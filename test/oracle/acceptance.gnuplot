# The terminal and the output are the caller's. Colours: Okabe and Ito. Points stand on every sixth value only, each
# mode beginning elsewhere, so that lines on top of each other can be told.
if (!exists("data")) data = "test/oracle/acceptance.data"

array name[10] = ["demand", "density", "rta", "hyperbolic", "liu-layland", "necessary", \
                  "gfb-2", "gfb-4", "bandwidth-2", "bandwidth-4"]
array shown[10] = ["edf demand", "edf density", "rm rta", "rm hyperbolic", "rm liu-layland", "rm necessary", \
                   "edf gfb, 2 CPUs", "edf gfb, 4 CPUs", "edf bandwidth, 2 CPUs", "edf bandwidth, 4 CPUs"]

set linetype 1  lw 2 pt 5  lc rgb "#0072B2"
set linetype 2  lw 2 pt 4  lc rgb "#0072B2" dt (12,5)
set linetype 3  lw 2 pt 7  lc rgb "#D55E00"
set linetype 4  lw 2 pt 6  lc rgb "#D55E00" dt (12,5)
set linetype 5  lw 2 pt 8  lc rgb "#D55E00" dt (3,4)
set linetype 6  lw 2 pt 2  lc rgb "#000000" dt (3,4)
set linetype 7  lw 2 pt 9  lc rgb "#009E73"
set linetype 8  lw 2 pt 10 lc rgb "#009E73" dt (12,5)
set linetype 9  lw 2 pt 13 lc rgb "#CC79A7"
set linetype 10 lw 2 pt 12 lc rgb "#CC79A7" dt (12,5)

set xrange [0.5:1.05]
set yrange [0:1.03]
set xtics 0.1
set ytics 0.2
set grid lc rgb "#dddddd" lt 1 lw 1
set border 3
set tics nomirror
set xlabel "utilization of each CPU"
set key off

set multiplot
set ylabel "task sets admitted"
set lmargin at screen 0.065
set rmargin at screen 0.385
set bmargin at screen 0.13
set tmargin at screen 0.91
set title "deadline = period"
plot for [i = 1:10] data index 0 using "utilization":name[i] with lines lt i, \
     for [i = 1:10] data index 0 using "utilization":name[i] every 6::(i % 6) with points lt i

unset ylabel
set format y ""
set lmargin at screen 0.425
set rmargin at screen 0.745
set title "deadline between half the period and the period"
set label 1 "Right panel: rm's hyperbolic,\nliu-layland and necessary\npromise nothing there." at screen 0.782, 0.26 left
set key at screen 0.99, 0.9 right top Left reverse samplen 3 spacing 1.6
plot for [i in "1 2 3 7 8 9 10"] data index 1 using "utilization":name[int(i)] with lines lt int(i) notitle, \
     for [i in "1 2 3 7 8 9 10"] data index 1 using "utilization":name[int(i)] every 6::(int(i) % 6) \
         with points lt int(i) notitle, \
     for [i = 1:10] keyentry with linespoints lt i title shown[i]
unset multiplot
