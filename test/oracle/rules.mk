# Simulates schedules, and measures how much the plugins admit.
ORACLE  = $(B)/test/oracle $(B)/test/acceptance
LINKED += $(ORACLE)
$(ORACLE): $(B)/test/%: $(B)/obj/test/oracle/%.o $(call objects,$(addprefix test/oracle/,generate.c simulate.c plugin-process.c)) $(LIB)
$(ORACLE): LDLIBS = -ljansson -lm

# Compares simulated schedules with what the plugins admit; test/oracle.bats runs a part of this. ONLY=supply: only the modes with this text in their names.
oracle: programs $(B)/test/oracle
	$(B)/test/oracle --sets 100000 $(if $(ONLY),--only '$(ONLY)') $(B)/libexec/plugins

# Measures how much each mode admits: build/acceptance.svg, and its data beside it. Needs gnuplot. Each run gives the same data.
acceptance: programs $(B)/test/acceptance
	$(B)/test/acceptance $(B)/libexec/plugins > $(B)/acceptance.data
	gnuplot -e 'set terminal svg size 1150,520 dynamic background "white" font "sans,13"; data = "$(B)/acceptance.data"' test/oracle/acceptance.gnuplot > $(B)/acceptance.svg
