# Programs on top, rules below. Objects and programs go to build/; `make install` copies them.
PREFIX     ?= /usr/local
SYSCONFDIR ?= /etc
LIBEXECDIR ?= $(PREFIX)/libexec/rtf
BINDIR     ?= $(PREFIX)/bin
MANDIR     ?= $(PREFIX)/share/man
UNITDIR    ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
LOGROTATEDIR ?= $(SYSCONFDIR)/logrotate.d

B       ?= build
CC      ?= cc
CFLAGS  ?= -O2 -g
WARN     = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
SANITIZE =
ALL_CFLAGS = -std=c17 -D_GNU_SOURCE $(WARN) $(SANITIZE) $(CFLAGS)

# Which headers a source file sees, besides those beside it: nobody reaches into another program. Tests see everything.
BROKER  = libexec/broker $(patsubst %/,%,$(wildcard libexec/broker/*/))
sees    = -Ilib $(if $(filter plugins/% test/%,$(1)),-Iplugins) $(if $(filter libexec/% test/%,$(1)),-Ilibexec) \
    $(if $(filter libexec/broker/% test/%,$(1)),$(BROKER:%=-I%)) $(if $(filter test/%,$(1)),-Itest/fuzz)

BIN      = rtf-run rtf-wait
LIBEXEC  = rtf-brokerd rtf-reader rtf-adopter rtf-attach rtf-guard rtf-detach rtf-partition rtf-names rtf-log rtf-publisher rtf-threads
SCRIPT   = rtf-invariants rtf-lint rtf-invariants.jq rtf-lint.awk
PLUGINS  = edf rm fp rr
MAN      = $(notdir $(basename $(wildcard man/*.scd)))

ENFORCE_SRC = libexec/enforce.c libexec/enforced.c libexec/domain.c libexec/domains.c lib/cgroup.c lib/thread.c lib/paragraph.c lib/units.c
BROKER_SRC = $(wildcard $(BROKER:%=%/*.c))
of_broker  = $(filter $(addprefix %/,$(1)),$(BROKER_SRC))
READER_SRC = $(wildcard libexec/reader/*.c)
PLUGIN_SRC = $(filter-out $(PLUGINS:%=plugins/%.c),$(wildcard plugins/*.c))
SOURCES    = $(wildcard bin/*.c lib/*.c libexec/*.c plugins/*.c test/*.c test/unit/*.c test/attack/*.c test/bench/*.c test/fuzz/*.c test/oracle/*.c test/experiments/*.c) $(BROKER_SRC) $(READER_SRC)

PROGRAMS = $(BIN:%=$(B)/bin/%) $(LIBEXEC:%=$(B)/libexec/%) $(SCRIPT:%=$(B)/libexec/%) $(PLUGINS:%=$(B)/libexec/plugins/%)

.PHONY: all programs man install-tools unit unit-sanitized check check-sanitized faults soak fairness crowd bench bench-paper vm-check fuzzers fuzz oracle acceptance experiments lateness lint install clean
all: programs man
programs: $(PROGRAMS)
man: $(MAN:%=$(B)/man/%)

objects = $(patsubst %.c,$(B)/obj/%.o,$(1))

$(B)/bin/rtf-run:            $(call objects,bin/rtf-run.c lib/client.c lib/units.c)
$(B)/bin/rtf-wait:           $(call objects,bin/rtf-wait.c lib/client.c lib/units.c)
$(B)/libexec/rtf-attach:     $(call objects,libexec/rtf-attach.c libexec/watch.c lib/confine.c lib/powers.c lib/pass.c libexec/one-shot.c $(ENFORCE_SRC))
$(B)/libexec/rtf-guard:      $(call objects,libexec/rtf-guard.c libexec/guard-rank.c libexec/guarded.c libexec/boosts.c libexec/rings.c libexec/expected.c libexec/window.c libexec/suspend.c lib/clock.c lib/confine.c lib/powers.c lib/pass.c $(ENFORCE_SRC))
$(B)/libexec/rtf-detach:     $(call objects,libexec/rtf-detach.c libexec/one-shot.c $(ENFORCE_SRC))
$(B)/libexec/rtf-partition:  $(call objects,libexec/rtf-partition.c libexec/domains.c lib/run-directory.c lib/cgroup.c lib/thread.c lib/paragraph.c lib/units.c)
$(B)/libexec/rtf-names:      $(call objects,libexec/rtf-names.c lib/paragraph.c lib/units.c)
$(B)/libexec/rtf-log:        $(call objects,libexec/rtf-log.c lib/confine.c lib/powers.c)
$(B)/libexec/rtf-publisher:  $(call objects,libexec/rtf-publisher.c lib/confine.c lib/powers.c lib/units.c)
$(B)/libexec/rtf-threads:    $(call objects,libexec/rtf-threads.c lib/thread.c lib/paragraph.c lib/units.c)
$(B)/libexec/rtf-reader:     $(call objects,$(READER_SRC) lib/clock.c lib/sighting.c lib/spec.c lib/confine.c lib/pass.c lib/thread.c lib/paragraph.c lib/units.c)
$(B)/libexec/rtf-adopter:    $(call objects,libexec/rtf-adopter.c libexec/aside.c lib/confine.c lib/powers.c lib/pass.c lib/thread.c lib/paragraph.c lib/units.c)
$(B)/libexec/rtf-brokerd:    $(call objects,$(BROKER_SRC) lib/clock.c lib/sighting.c lib/spec.c lib/cgroup.c lib/confine.c lib/powers.c lib/pass.c lib/run-directory.c lib/thread.c lib/tick.c lib/paragraph.c lib/units.c)
$(PLUGINS:%=$(B)/libexec/plugins/%): $(B)/libexec/plugins/%: $(B)/obj/plugins/%.o $(call objects,$(PLUGIN_SRC) lib/paragraph.c lib/units.c)

$(B)/experiments/jobs:       $(call objects,test/experiments/jobs.c)

$(BIN:%=$(B)/bin/%) $(B)/libexec/rtf-threads: LDLIBS = -ljansson
$(B)/libexec/rtf-brokerd: LDLIBS = -ljansson -lcap-ng -lseccomp
$(B)/libexec/rtf-reader: LDLIBS = -ljansson -lseccomp
$(B)/libexec/rtf-attach $(B)/libexec/rtf-adopter $(B)/libexec/rtf-log $(B)/libexec/rtf-publisher $(B)/libexec/rtf-guard: LDLIBS = -lcap-ng -lseccomp
$(B)/libexec/rtf-names: LDLIBS = -lcap-ng
# One is started whenever a user comes back: without a dynamic linker in half the time. STATIC= for one with it; sanitizers need it.
STATIC ?= $(if $(SANITIZE),,-static-pie)
$(B)/libexec/rtf-reader: LDFLAGS += $(STATIC)
$(PLUGINS:%=$(B)/libexec/plugins/%): LDLIBS = -lgmp

ORACLE = $(B)/test/oracle $(B)/test/acceptance
$(ORACLE): $(B)/test/%: $(B)/obj/test/oracle/%.o \
    $(call objects,test/oracle/generate.c test/oracle/simulate.c test/oracle/plugin-process.c lib/paragraph.c lib/units.c)
$(ORACLE): LDLIBS = -ljansson -lm

$(B)/test/periodic: $(call objects,test/experiments/periodic.c lib/units.c)
# What the tests look with, and attacks that are made on other kernels, too (test/vm), where there is no compiler.
ATTACKS = $(B)/test/identity $(B)/test/inherit
$(ATTACKS): $(B)/test/%: $(B)/obj/test/attack/%.o
TOOLS = $(B)/test/kernel-view $(B)/test/field $(ATTACKS)
$(filter-out $(ATTACKS),$(TOOLS)): $(B)/test/%: $(B)/obj/test/%.o
$(B)/test/field: LDLIBS = -ljansson

$(SCRIPT:%=$(B)/libexec/%): $(B)/libexec/%: libexec/%
	@mkdir -p $(@D)
	install $< $@

$(filter-out $(SCRIPT:%=$(B)/libexec/%),$(PROGRAMS)) $(ORACLE) $(B)/test/periodic $(TOOLS) $(B)/experiments/jobs $(B)/bench/bench $(B)/bench/paper $(B)/bench/clients $(B)/bench/users $(B)/bench/flood:
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(call sees,$<) -MMD -MP -c -o $@ $<

$(B)/man/%: man/%.scd
	@mkdir -p $(@D)
	scdoc < $< > $@.new && mv $@.new $@

install-tools: $(TOOLS)
	install $^ $(DESTDIR)

check: all $(TOOLS) unit
	test/run $(TESTS)

# What only computes, as C sees it: no root, no spool, no threads, and a clock of the tests' own (test/unit/README.md). Each program takes what it
# needs of the broker's own objects, but for those at the edge, which act on the world: test/unit has stubs for them. Needs cmocka.
UNITS = units ledger rest acl spec window turns scans plugin-lines nearest
EDGE  = $(call of_broker,main.c attach.c event.c guard.c order.c plugins.c readers.c starter.c) lib/cgroup.c lib/clock.c lib/tick.c
unit: $(UNITS:%=$(B)/unit/%)
	test/unit/run $^
$(UNITS:%=$(B)/unit/%): $(B)/unit/%: $(call objects,test/unit/%.c $(addprefix test/unit/,unit.c clock.c told.c) test/stubs.c) $(B)/unit/rtf.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka -ljansson
$(B)/unit/nearest: | $(PLUGINS:%=$(B)/libexec/plugins/%)
$(B)/unit/rtf.a: $(call objects,$(filter-out $(EDGE),$(BROKER_SRC) $(wildcard lib/*.c)) libexec/window.c) Makefile
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $(filter %.o,$^)

# The tests in test/fault at every system call instead of some, with 2,000 random kills: hours. And a million requests.
faults: all $(TOOLS)
	IDENTITY_ROUNDS=20 BATS_TEST_TIMEOUT=14400 test/run test/attack/identity.bats
	REST_SECONDS=8 REST_SEEDS="$$(seq -s ' ' 100)" BATS_TEST_TIMEOUT=14400 test/run test/rest.bats
	DRY_SEEDS="$$(seq -s ' ' 100)" DRY_RUNS=200 BATS_TEST_TIMEOUT=14400 test/run test/dry-run.bats
	RTF_TURN=all FAULT_STEP=1 FAULT_FIRST=1 FAULT_KILLS=2000 BATS_TEST_TIMEOUT=14400 test/run test/fault/*.bats
soak: all $(TOOLS)
	SOAK_REQUESTS=1000000 BATS_TEST_TIMEOUT=3600 test/run test/attack/soak.bats

# How long 49 users wait for 1,000 verdicts while the fiftieth floods the spool.
fairness: programs $(B)/bench/clients $(B)/bench/flood
	BUILD=$(B) test/bench/fairness
# What 1,000 users cost, and how long the first wish of each takes.
crowd: programs $(B)/bench/users
	BUILD=$(B) test/bench/crowd
# What it costs to ask, against the bare floor. QUICK=1: in less than a minute.
bench: programs $(B)/bench/bench $(B)/bench/clients
	$(B)/bench/bench --build $(B) --json $(B)/bench/bench.json $(if $(QUICK),--quick) $(OPTIONS)
$(B)/bench/bench:   $(call objects,$(addprefix test/bench/,bench.c operations.c flat.c others.c domain.c broker.c client.c floor.c samples.c) lib/cgroup.c lib/units.c)
$(B)/bench/bench:   LDLIBS = -ljansson
# Figures 3 to 5 of paper 000. QUICK=1: in some minutes instead of hours. The pictures need gnuplot.
bench-paper: programs $(B)/bench/paper
	@mkdir -p $(B)/bench/figures
	$(B)/bench/paper --build $(B) --output $(B)/bench/figures $(if $(QUICK),--quick) $(OPTIONS)
	cd $(B)/bench/figures && gnuplot $(CURDIR)/test/bench/paper.gnuplot
$(B)/bench/paper:   $(call objects,$(addprefix test/bench/,paper.c broker.c client.c samples.c))
$(B)/bench/paper:   LDLIBS = -lcap-ng
$(B)/bench/clients: $(call objects,test/bench/clients.c)
$(B)/bench/users:   $(call objects,test/bench/users.c)
$(B)/bench/flood:   $(call objects,test/attack/flood.c)

# Simulated schedules against what the plugins admit; a part of this is in test/oracle.bats.
oracle: programs $(B)/test/oracle
	$(B)/test/oracle --sets 100000 $(B)/libexec/plugins

# How much each mode admits. The data are kept with the sources; the picture needs gnuplot.
acceptance: programs $(B)/test/acceptance
	$(B)/test/acceptance $(B)/libexec/plugins > test/oracle/acceptance.data.new
	mv test/oracle/acceptance.data.new test/oracle/acceptance.data

man/acceptance.svg: test/oracle/acceptance.gnuplot test/oracle/acceptance.data
	gnuplot -e 'set terminal svg size 1150,520 dynamic background "white" font "sans,13"' $< > $@.new && mv $@.new $@

# The same tests with programs that stop at the first wrong access or undefined result.
SANITIZED = B=build/sanitized CFLAGS='-O1 -g' SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer'
check-sanitized:
	ASAN_OPTIONS=handle_segv=0:handle_sigbus=0:handle_sigfpe=0 RTF_MEMORY_SLACK=1000000 $(MAKE) --no-print-directory $(SANITIZED) check
unit-sanitized:
	$(MAKE) --no-print-directory $(SANITIZED) unit

# Each parser takes random bytes for so many seconds, from what is in test/fuzz/corpus on. Needs clang and libclang-rt-dev.
SECONDS ?= 60
FUZZERS = spec acl plugins-conf plugin helper state reader adopter
fuzzers: $(FUZZERS:%=$(B)/fuzz/%)
fuzz: fuzzers
	test/fuzz/run $(B)/fuzz $(SECONDS) $(FUZZERS)

FUZZ_FLAGS = -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -O1 -g \
    -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
fuzzed = $(patsubst %.c,$(B)/fuzz/obj/%.o,test/fuzz/fuzz.c test/stubs.c $(call of_broker,conf.c $(1)) \
    $(addprefix lib/,clock.c spec.c sighting.c paragraph.c units.c thread.c tick.c $(2)))
$(B)/fuzz/plugins-conf: $(call fuzzed)
$(B)/fuzz/spec $(B)/fuzz/state: $(call fuzzed,plugin-lines.c)
$(addprefix $(B)/fuzz/,plugin helper reader adopter): $(call fuzzed,plugin-lines.c coprocess.c loop.c,pass.c)
$(B)/fuzz/acl: $(call fuzzed,plugin-lines.c acl.c acl-judge.c names.c turns.c coprocess.c loop.c,pass.c)
$(FUZZERS:%=$(B)/fuzz/%): $(B)/fuzz/%: $(B)/fuzz/obj/test/fuzz/%.o
	clang $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ -ljansson
$(B)/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	clang $(FUZZ_FLAGS) $(call sees,test/$<) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

# What the papers found, measured here; test/experiments/README.md. All of them, even if one does not hold.
experiments: all $(B)/experiments/jobs
	@status=0; for experiment in 'periodic-tasks cpu-time' 'periodic-tasks rt-app' greedy-shares late-arrival renewal players runaway; do \
	    test/experiments/$$experiment || status=1; done; exit $$status

# Is what was granted kept? On the real kernel, for an hour; QUICK=1: for a minute. test/experiments/lateness.md
lateness: programs $(B)/test/periodic $(B)/test/kernel-view
	test/experiments/lateness --build $(B) $(if $(QUICK),--sets 2 --seconds 3) $(OPTIONS)

# Under Debian's own kernels (also PREEMPT_RT) and systemd, in virtual machines. Some minutes; too long for each change.
vm-check: all $(TOOLS)
	test/vm/check $(TESTS)

SCRIPTS = $(filter-out %.bats,$(shell grep -lE '^\#!/bin/(sh|bash)' .ci/* bin/* libexec/* contrib/* contrib/plugins/* test/* test/unit/* test/vm/* test/fuzz/* test/attack/* test/bench/* 2>/dev/null))

lint: $(SOURCES:%=$(B)/lint/%)
	shellcheck $(SCRIPTS)
	test/circles

# One stamp for each source: only what has changed is read again, and -j reads several at once.
$(B)/lint/%.c: %.c .clang-tidy $(wildcard test/lint/*.h test/lint/bsd/sys/*.h lib/*.h libexec/*.h $(BROKER:%=%/*.h) libexec/reader/*.h plugins/*.h test/oracle/*.h test/*.h test/unit/*.h test/fuzz/*.h)
	@mkdir -p $(@D)
	clang-tidy --quiet --warnings-as-errors='*' $< -- -std=c17 -D_GNU_SOURCE -isystem test/lint $(call sees,$<)
	@touch $@

install: all
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBEXECDIR)/plugins $(DESTDIR)$(SYSCONFDIR)/rtf
	install $(BIN:%=$(B)/bin/%) $(DESTDIR)$(BINDIR)
	install $(LIBEXEC:%=$(B)/libexec/%) $(filter-out %.jq %.awk,$(SCRIPT:%=$(B)/libexec/%)) $(DESTDIR)$(LIBEXECDIR)
	install -m 644 $(filter %.jq %.awk,$(SCRIPT:%=$(B)/libexec/%)) $(DESTDIR)$(LIBEXECDIR)
	install $(PLUGINS:%=$(B)/libexec/plugins/%) $(DESTDIR)$(LIBEXECDIR)/plugins
	for page in $(MAN); do \
	    install -D -m 644 $(B)/man/$$page $(DESTDIR)$(MANDIR)/man$${page##*.}/$$page; done
	for file in plugins.conf acl.conf; do \
	    test -e $(DESTDIR)$(SYSCONFDIR)/rtf/$$file || install -m 644 etc/$$file $(DESTDIR)$(SYSCONFDIR)/rtf/$$file; done
	install -d $(DESTDIR)$(UNITDIR)
	sed 's,@LIBEXECDIR@,$(LIBEXECDIR),g' etc/rtf.service | install -m 644 /dev/stdin $(DESTDIR)$(UNITDIR)/rtf.service
	install -D -m 644 etc/rtf.sysusers $(DESTDIR)$(SYSUSERSDIR)/rtf.conf
	install -D -m 644 etc/rtf.tmpfiles $(DESTDIR)$(TMPFILESDIR)/rtf.conf
	test -e $(DESTDIR)$(LOGROTATEDIR)/rtf || install -D -m 644 etc/rtf.logrotate $(DESTDIR)$(LOGROTATEDIR)/rtf

clean:
	rm -rf build

-include $(patsubst %.c,$(B)/obj/%.d,$(SOURCES))
-include $(patsubst %.c,$(B)/fuzz/obj/%.d,$(SOURCES))
