# Repeats the measurements of the papers.
LINKED += $(B)/experiments/jobs $(B)/experiments/negotiation $(B)/experiments/late-jobs $(B)/experiments/executor $(B)/experiments/worker $(B)/test/periodic
$(B)/experiments/jobs: $(call objects,test/experiments/jobs.c)
$(B)/experiments/negotiation: $(call objects,$(addprefix test/bench/,negotiation.c client.c samples.c))
$(B)/experiments/late-jobs: $(call objects,test/experiments/late-jobs.c) $(B)/libexec/front.a $(LIB)
$(B)/experiments/late-jobs: LDLIBS = -ljansson
$(B)/experiments/executor: $(call objects,test/experiments/executor.c)
$(B)/experiments/worker: $(call objects,test/worker.c)
$(B)/experiments/worker: LDLIBS = -lm
$(B)/experiments/negotiation: LDLIBS = -ljansson
$(B)/test/periodic: $(call objects,test/experiments/periodic.c) $(LIB)

# Measures the papers' findings on this machine (test/experiments/README.md): all of them, even if one does not hold.
experiments: all $(TOOLS) $(B)/experiments/jobs $(B)/experiments/negotiation $(B)/experiments/late-jobs $(B)/experiments/executor $(B)/experiments/worker $(B)/bed/slow-disk
	@status=0; for experiment in 'periodic-tasks cpu-time' 'periodic-tasks rt-app' greedy-shares schedule late-arrival renewal players adaptive without-numbers runaway negotiation readers streams case-study; do \
	    test/experiments/$$experiment || status=1; done; \
	MISSES=$(if $(QUICK),140,1000) FILTER='seven causes' BATS_TEST_TIMEOUT=900 test/run test/front/why.bats || status=1; exit $$status

# Checks whether granted threads are in time on the real kernel, for an hour; QUICK=1: for a minute (test/experiments/lateness.md).
lateness: programs $(B)/test/periodic $(B)/test/kernel-view
	test/experiments/lateness --build $(B) $(if $(QUICK),--sets 2 --seconds 3) $(OPTIONS)

