# Figures 3 to 5 of the ReTiF paper from create-two.data, create-one.data and attach.data, here: figure3.svg, figure3.png and so on.
# The paper's figures 3 and 4 are from two machines; these are from one machine, with client and broker on two CPUs and on one.
kinds = "EDF RM RR/FP"
cpus = "1 2 4 8 16 20"
set style line 1 lc rgb "#440154" lw 1.6
set style line 2 lc rgb "#414487" lw 1.6
set style line 3 lc rgb "#2a788e" lw 1.6
set style line 4 lc rgb "#22a884" lw 1.6
set style line 5 lc rgb "#7ad151" lw 1.6
set style line 6 lc rgb "#d8b365" lw 1.6
set grid lc rgb "#dddddd"

do for [picture in "svg png"] {
    do for [figure = 3:4] {
        data = figure == 3 ? "create-two.data" : "create-one.data"
        where = figure == 3 ? "client and broker on two CPUs" : "client and broker on one CPU"
        if (picture eq "svg") { set terminal svg size 1200,420 dynamic background "white" font "sans,13" } \
        else { set terminal pngcairo size 1200,420 background "white" font "sans,11" }
        set output sprintf("figure%d.%s", figure, picture)
        set multiplot layout 1,3 title sprintf("Creating a reservation, %s: p50 of the latency over the tasks that are there", where)
        set xlabel "tasks present"
        set ylabel "latency (µs)"
        set xrange [0:1024]
        set xtics 256
        set yrange [0:*]
        set key bottom right title "CPUs"
        do for [kind = 1:3] {
            set title word(kinds, kind)
            plot for [size = 1:6] data index (kind - 1) * 6 + size - 1 using 1:2 every ::1 with lines ls size title word(cpus, size)
        }
        unset multiplot
        unset key
    }
    if (picture eq "svg") { set terminal svg size 760,420 dynamic background "white" font "sans,13" } \
    else { set terminal pngcairo size 760,420 background "white" font "sans,11" }
    set output sprintf("figure5.%s", picture)
    set bmargin 4
    set title "Attaching a thread, and the bare system call"
    unset xlabel
    set ylabel "latency (µs)"
    set logscale y
    set xrange [0.3:4.7]
    set yrange [0.1:*]
    set xtics ("attach,\ntwo CPUs" 1, "sched\\_setscheduler,\ntwo CPUs" 2, "attach,\none CPU" 3, "sched\\_setscheduler,\none CPU" 4)
    set style fill solid 0.3 border
    set style boxplot fraction 0.98 nooutliers
    plot for [column = 1:4] "attach.data" using (column):column with boxplot lc rgb (column % 2 ? "#414487" : "#22a884") notitle
    unset logscale
    set xtics autofreq
}
