# These programs measure the cost of rtf: time, fairness, memory.
LINKED += $(addprefix $(B)/bench/,bench paper library clients users single flood muse-mark muse-disturbance)

# Measures how long a single user waits for a verdict while another user floods the spool; and how long 49 users wait for 1,000 verdicts while a
# fiftieth user floods the spool.
fairness: programs $(B)/bench/single $(B)/bench/clients $(B)/bench/flood
	BUILD=$(B) test/bench/fairness-single $(if $(QUICK),2)
	BUILD=$(B) test/bench/fairness $(if $(QUICK),1)
# Measures the cost of 1,000 users, and how long the first spec of each user takes.
crowd: programs $(B)/bench/users
	BUILD=$(B) test/bench/crowd
# Measures the cost of a request, against the floor. QUICK=1: in less than a minute.
bench: programs $(B)/bench/bench $(B)/bench/clients
	$(B)/bench/bench --build $(B) --json $(B)/bench/bench.json $(if $(QUICK),--quick) $(OPTIONS)
$(B)/bench/bench:   $(call objects,$(addprefix test/bench/,bench.c operations.c flat.c others.c domain.c broker.c client.c floor.c samples.c)) $(LIB)
$(B)/bench/bench:   LDLIBS = -ljansson
# Measures figures 3 to 5 of the ReTiF paper. QUICK=1: in some minutes instead of hours. The pictures need gnuplot.
bench-paper: programs $(B)/bench/paper
	@mkdir -p $(B)/bench/figures
	$(B)/bench/paper --build $(B) --output $(B)/bench/figures $(if $(QUICK),--quick) $(OPTIONS)
	cd $(B)/bench/figures && gnuplot $(CURDIR)/test/bench/paper.gnuplot
$(B)/bench/paper:   $(call objects,$(addprefix test/bench/,paper.c broker.c client.c samples.c))
$(B)/bench/paper:   LDLIBS = -lcap-ng
# Measures rtf_spec_create against bench's own client, and rtf_spec_attach and rtf_spec_detach.
bench-library: programs $(B)/bench/library
	$(B)/bench/library $(B) $(if $(QUICK),200)
$(B)/bench/library: $(call objects,$(addprefix test/bench/,library.c broker.c client.c samples.c)) $(B)/lib/librtf.a
$(B)/bench/library: LDLIBS = -ljansson -pthread
$(B)/bench/clients: $(call objects,test/bench/clients.c)
$(B)/bench/users:   $(call objects,test/bench/users.c)
$(B)/bench/single:  $(call objects,$(addprefix test/bench/,single.c client.c samples.c))
$(B)/bench/flood:   $(call objects,test/attack/flood.c)

# Measures MakeThreadRealtime of rtf-rtkit against RealtimeKit's. Needs Debian's dbus, rtkit and polkitd.
bench-rtkit: programs $(B)/test/rtkit-client
	BUILD=$(B) test/bench/rtkit

# Measures how long an analysis takes, how long a mark takes, whether marks are lost, and how much time marking takes from the measured threads. QUICK=1:
# without the analysis of a million jobs, and with half a minute of marks. ONLY=disturbance: only the last.
bench-muse: programs $(B)/bench/muse-mark $(B)/bench/muse-disturbance
	BUILD=$(B) test/bench/muse
$(B)/bench/muse-mark: $(call objects,test/bench/muse-mark.c)
$(B)/bench/muse-disturbance: $(call objects,test/bench/muse-disturbance.c) $(B)/libexec/muse.a $(LIB)
$(B)/bench/muse-disturbance: LDLIBS = -ljansson -lm

