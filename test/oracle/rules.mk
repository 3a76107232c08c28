# Schedules that are simulated, and how much the plugins admit.
ORACLE  = $(B)/test/oracle $(B)/test/acceptance
LINKED += $(ORACLE)
$(ORACLE): $(B)/test/%: $(B)/obj/test/oracle/%.o $(call objects,$(addprefix test/oracle/,generate.c simulate.c plugin-process.c)) $(LIB)
$(ORACLE): LDLIBS = -ljansson -lm

# Simulated schedules against what the plugins admit; a part of this is in test/oracle.bats.
oracle: programs $(B)/test/oracle
	$(B)/test/oracle --sets 100000 $(B)/libexec/plugins

# How much each mode admits. The data are kept with the sources; the picture needs gnuplot.
acceptance: programs $(B)/test/acceptance
	$(B)/test/acceptance $(B)/libexec/plugins > test/oracle/acceptance.data.new
	mv test/oracle/acceptance.data.new test/oracle/acceptance.data

man/acceptance.svg: test/oracle/acceptance.gnuplot test/oracle/acceptance.data
	gnuplot -e 'set terminal svg size 1150,520 dynamic background "white" font "sans,13"' $< > $@.new && mv $@.new $@

