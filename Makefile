# Programs on top, rules below. Objects and programs go to build/; `make install` copies them.

# No rule of make's own is used, and it would look at each of them for each file: 0.05 s instead of 0.6 to see that there is nothing to do.
MAKEFLAGS += --no-builtin-rules

PREFIX     ?= /usr/local
SYSCONFDIR ?= /etc
LIBEXECDIR ?= $(PREFIX)/libexec/rtf
BINDIR     ?= $(PREFIX)/bin
SBINDIR    ?= $(PREFIX)/sbin
MANDIR     ?= $(PREFIX)/share/man
UNITDIR    ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
LOGROTATEDIR ?= $(SYSCONFDIR)/logrotate.d
BASHDIR    ?= $(PREFIX)/share/bash-completion/completions
# Debian's zsh looks for what packages bring in a directory of its own.
ZSHDIR     ?= $(PREFIX)/share/zsh/$(if $(and $(filter /usr,$(PREFIX)),$(wildcard /etc/debian_version)),vendor-completions,site-functions)
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
FISHDIR    ?= $(PREFIX)/share/fish/vendor_completions.d

B       ?= build
CC      ?= cc
CFLAGS  ?= -O2 -g
WARN     = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wswitch-enum
SANITIZE =
ALL_CFLAGS = -std=c17 -D_GNU_SOURCE $(WARN) $(SANITIZE) $(CFLAGS)

# Which headers a source file sees, besides those beside it: nobody reaches into another program. Tests see everything.
BROKER   := libexec/broker $(patsubst %/,%,$(wildcard libexec/broker/*/))
NL_CFLAGS := $(shell pkg-config --cflags libnl-route-3.0)
FUSE_CFLAGS := $(shell pkg-config --cflags fuse3)
sees    = -Ilib -Ilib/librtf $(if $(filter libexec/% test/%,$(1)),-Ilibexec/attach -Ilibexec/guard -Ilibexec/adopter) $(if $(filter contrib/bed/slow-disk.c,$(1)),$(FUSE_CFLAGS)) $(if $(filter libexec/net/%,$(1)),$(NL_CFLAGS)) $(if $(filter plugins/% test/%,$(1)),-Iplugins) $(if $(filter libexec/% test/%,$(1)),-Ilibexec) $(if $(filter libexec/front/%,$(1)),-Ilibexec/preload) \
    $(if $(filter libexec/broker/% test/%,$(1)),$(BROKER:%=-I%)) $(if $(filter test/%,$(1)),-Itest/fuzz)

BIN      = rtf-run rtf-wait
LIBEXEC  = rtf-brokerd rtf-reader rtf-adopter rtf-attach rtf-guard rtf-detach rtf-partition rtf-names rtf-logger rtf-publisher rtf-threads rtf-order rtf-rtkit rtf-net rtf-disk rtf-probe rtf-brokers rtf-as-user
SCRIPT   = rtf-invariants rtf-lint rtf-invariants.jq rtf-lint.awk
# Commands of rtf(1): in shell; in C, with the programs that read logs and status.json for commands in shell; and what commands in shell share.
FRONT    := $(notdir $(filter-out %.c,$(wildcard libexec/front/rtf-*)))
FRONT_C  := $(notdir $(basename $(wildcard libexec/front/rtf-*.c))) log-lines status-lines
FRONT_DATA = admin.sh front.jq acl.jq commands
FRONT_SED  = front.sh complete
PLUGINS  = edf rm fp rr net disk
# rtf muse: a front in sh and programs of its own in a room beside it.
MUSE     = analyse run
MUSE_SH  = report sweep
MAN      := $(notdir $(basename $(wildcard man/*.scd)))

ENFORCE_SRC = lib/scheduling.c lib/retry.c lib/demote.c lib/kernel-refusal.c lib/apply-result.c lib/cpuset-leaf.c lib/cpuset-domains.c lib/cgroup.c lib/thread.c lib/tick.c lib/paragraph.c lib/units.c
BROKER_SRC := $(wildcard $(BROKER:%=%/*.c))
of_broker  = $(filter $(addprefix %/,$(1)),$(BROKER_SRC))
SPEC_SRC   := $(wildcard lib/spec.c lib/spec-*.c)
READER_SRC := $(wildcard libexec/reader/*.c)
NET_SRC    := $(wildcard libexec/net/*.c)
DISK_SRC   := $(wildcard libexec/disk/*.c)
RTKIT_SRC  := $(wildcard libexec/rtkit/*.c)
MUSE_SRC   = $(addprefix libexec/muse/,events.c experiment.c marks.c measure.c separations.c supply.c)
PLUGIN_SRC := $(filter-out $(PLUGINS:%=plugins/%.c),$(wildcard plugins/*.c))
SOURCES    := $(wildcard bin/*.c test/library/*.c contrib/bed/*.c contrib/examples/*.c lib/*.c lib/librtf/*.c libexec/*/*.c libexec/front/request/*.c plugins/*.c test/*.c test/unit/*.c test/attack/*.c test/bench/*.c test/fuzz/*.c test/oracle/*.c test/experiments/*.c) $(BROKER_SRC) $(READER_SRC) $(RTKIT_SRC) $(NET_SRC) $(DISK_SRC) $(wildcard libexec/muse/*.c libexec/preload/*.c)

PROGRAMS = $(B)/bin/rtf $(addprefix $(B)/libexec/front/,$(FRONT) $(FRONT_C) $(FRONT_DATA) $(FRONT_SED)) $(BIN:%=$(B)/bin/%) $(LIBEXEC:%=$(B)/libexec/%) $(addprefix $(B)/libexec/muse/,$(MUSE) $(MUSE_SH)) $(SCRIPT:%=$(B)/libexec/%) $(PLUGINS:%=$(B)/libexec/plugins/%)

# librtf: what programs link with. Its objects can lie anywhere, and of its names only those of librtf.map are seen.
LIBRARY_SRC := lib/units.c $(wildcard lib/librtf/*.c)
LIBRARY     = $(B)/lib/librtf.so.0 $(B)/lib/librtf.so $(B)/lib/librtf.a
# What rtf preload puts in front of libc.
PRELOAD     = $(B)/libexec/rtf-preload.so

# `make help` prints these lines.
#: all (the default)     build everything, to build/
#: check                 build, and run all tests; TESTS=FILE... for some files, FILTER=REGEX with one file for some of its tests
#: unit, unit-sanitized  unit tests, without and with sanitizers
#: check-sanitized       all tests, with sanitizers
#: lint                  clang-tidy, shellcheck, and what the source promises about itself
#: fuzzers, fuzz         build the fuzzers; run each (SECONDS=, RUNS=)
#: faults, soak          a kill and an error at every system call; a million requests: hours
#: mutate                which tests notice faults that are put into a copy (ONLY=REGEX)
#: model                 the order of journal and calls, with a crash at any point
#: oracle, acceptance    simulated schedules against what the plugins admit; how much each admits
#: experiments, lateness, muse-experiments  measure what the papers measured
#: bench, bench-paper, bench-library, bench-rtkit, bench-muse, fairness, crowd  what rtf costs (QUICK=1)
#: install, install-rtkit, install-tools, uninstall  (PREFIX=, DESTDIR=)
#: deb, deb-check        Debian packages; their test in a clean Debian
#: vm-check              tests under other kernels, in virtual machines
#: compile_commands.json for clangd
#: programs, library, man  parts of all
#: clean                 remove build/
.PHONY: all programs library man install-tools unit unit-sanitized check check-sanitized faults soak fairness crowd bench bench-muse bench-paper bench-rtkit bench-library muse-experiments vm-check fuzzers fuzz oracle acceptance experiments lateness lint model mutate help compile_commands.json install install-rtkit deb deb-check uninstall clean
all: programs library man
library: $(LIBRARY) $(PRELOAD)
programs: $(PROGRAMS)
help:
	@sed -n 's/^#: //p' Makefile
man: $(MAN:%=$(B)/man/%)

CLIENT  := $(wildcard lib/librtf/client*.c)
DISK_OPTION = lib/disk-option.c lib/disk-place.c lib/name.c
# Options that say what a thread needs, and signals that are held back until the answer.
NEEDS_OPTIONS = $(DISK_OPTION) lib/net-option.c lib/held-signals.c
objects = $(patsubst %.c,$(B)/obj/%.o,$(1))

$(B)/bin/rtf-run:            $(call objects,bin/rtf-run.c bin/child.c bin/ready.c bin/names.c $(CLIENT) $(NEEDS_OPTIONS) lib/notify.c lib/units.c lib/options.c)
$(B)/bin/rtf-wait:           $(call objects,bin/rtf-wait.c bin/room.c $(CLIENT) lib/units.c lib/options.c)
$(B)/libexec/front/rtf-top:  $(call objects,$(addprefix libexec/front/,rtf-top.c top-rows.c top-screen.c top-cpus.c journal.c states.c) lib/thread.c lib/resource.c lib/wire.c lib/disk.c lib/name.c lib/paragraph.c $(CLIENT) lib/units.c lib/options.c)
# Commands that ask the broker for something: libexec/front/request is what they share.
REQUEST := $(wildcard libexec/front/request/*.c) $(NEEDS_OPTIONS) lib/paragraph.c lib/units.c
$(addprefix $(B)/libexec/front/,rtf-declare rtf-change rtf-detach rtf-release rtf-attach rtf-what-if rtf-show rtf-adopt rtf-plugins): $(B)/libexec/front/%: $(call objects,libexec/front/%.c) $(call objects,$(REQUEST) $(CLIENT))
$(addprefix $(B)/libexec/front/,rtf-what-if rtf-show): $(call objects,libexec/front/as-user.c)
$(B)/libexec/front/rtf-show: $(call objects,libexec/front/serving.c lib/thread-json.c lib/thread.c)
$(B)/libexec/front/rtf-adopt: $(call objects,lib/thread.c)
$(B)/libexec/front/rtf-plugins: $(call objects,$(addprefix libexec/front/,in-force.c serving.c))
$(B)/libexec/front/log-lines: $(call objects,libexec/front/log-lines.c libexec/front/request/grant-text.c $(CLIENT) lib/units.c lib/options.c)
$(B)/libexec/front/status-lines: $(call objects,$(addprefix libexec/front/,status-lines.c in-force.c serving.c) $(CLIENT) lib/units.c lib/options.c)
$(B)/libexec/front/rtf-every: $(call objects,libexec/front/rtf-every.c $(CLIENT) lib/units.c lib/options.c)
$(B)/libexec/front/rtf-preload: $(call objects,libexec/front/rtf-preload.c libexec/preload/profile.c $(CLIENT) lib/units.c lib/options.c)
$(B)/libexec/front/rtf-ls:   $(call objects,$(addprefix libexec/front/,rtf-ls.c journal.c serving.c states.c) lib/resource.c lib/wire.c lib/disk.c lib/name.c $(CLIENT) lib/thread.c lib/paragraph.c lib/units.c lib/options.c)
$(B)/libexec/rtf-attach:     $(call objects,libexec/attach/rtf-attach.c libexec/attach/rt-limit.c libexec/attach/task-events.c lib/confine.c lib/capabilities.c lib/send-fds.c libexec/attach/one-shot.c $(ENFORCE_SRC) lib/options.c)
$(B)/libexec/rtf-guard:      $(call objects,libexec/guard/rtf-guard.c libexec/guard/guard-rank.c libexec/guard/guarded-threads.c libexec/guard/lending.c libexec/guard/inheritance-events.c libexec/guard/promotions.c libexec/guard/budget-window.c libexec/guard/suspension.c lib/clock.c lib/confine.c lib/capabilities.c lib/send-fds.c $(ENFORCE_SRC))
$(B)/libexec/rtf-detach:     $(call objects,libexec/attach/rtf-detach.c libexec/attach/one-shot.c $(ENFORCE_SRC) lib/options.c)
$(B)/libexec/rtf-partition:  $(call objects,libexec/admin/rtf-partition.c lib/cpuset-domains.c lib/run-directory.c lib/cgroup.c lib/thread.c lib/paragraph.c lib/units.c lib/options.c)
$(B)/libexec/rtf-names:      $(call objects,libexec/names/rtf-names.c lib/paragraph.c lib/units.c)
$(B)/libexec/rtf-logger:     $(call objects,libexec/log/rtf-logger.c lib/confine.c lib/capabilities.c)
$(B)/libexec/rtf-publisher:  $(call objects,libexec/publisher/rtf-publisher.c lib/confine.c lib/capabilities.c lib/units.c)
$(B)/libexec/rtf-threads:    $(call objects,libexec/admin/rtf-threads.c lib/thread-json.c lib/thread.c lib/paragraph.c lib/units.c)
$(B)/libexec/rtf-order:      $(call objects,libexec/admin/rtf-order.c lib/clock.c lib/paragraph.c lib/units.c)
$(B)/libexec/rtf-reader:     $(call objects,$(READER_SRC) lib/clock.c lib/snapshot.c lib/nearest-word.c $(SPEC_SRC) lib/resource.c lib/wire.c lib/disk.c lib/name.c lib/confine.c lib/send-fds.c lib/thread.c lib/paragraph.c lib/units.c)
$(B)/libexec/rtf-rtkit:      $(call objects,$(RTKIT_SRC) $(CLIENT) lib/confine.c lib/capabilities.c lib/thread.c lib/paragraph.c lib/units.c lib/options.c)
$(B)/libexec/rtf-net:        $(call objects,$(NET_SRC) lib/helper-loop.c lib/confine.c lib/capabilities.c lib/send-fds.c lib/thread.c lib/paragraph.c lib/units.c)
$(B)/libexec/rtf-disk:       $(call objects,$(DISK_SRC) lib/helper-loop.c lib/register.c lib/run-directory.c lib/cgroup.c lib/clock.c lib/confine.c lib/capabilities.c lib/send-fds.c lib/thread.c lib/name.c lib/paragraph.c lib/units.c)
$(B)/libexec/rtf-probe:      $(call objects,libexec/admin/rtf-probe.c lib/disk-place.c lib/clock.c lib/name.c)
$(B)/libexec/rtf-brokers:    $(call objects,libexec/admin/rtf-brokers.c lib/register.c lib/run-directory.c lib/units.c lib/options.c)
$(B)/libexec/rtf-as-user:    $(call objects,libexec/admin/rtf-as-user.c $(CLIENT) lib/clock.c lib/confine.c lib/capabilities.c lib/thread.c lib/paragraph.c lib/units.c lib/options.c)
$(B)/libexec/rtf-adopter:    $(call objects,libexec/adopter/rtf-adopter.c libexec/adopter/moved-aside.c lib/confine.c lib/capabilities.c lib/send-fds.c lib/thread.c lib/paragraph.c lib/units.c)
$(B)/libexec/rtf-brokerd:    $(call objects,$(BROKER_SRC) lib/clock.c lib/snapshot.c lib/nearest-word.c $(SPEC_SRC) lib/resource.c lib/wire.c lib/disk.c lib/name.c lib/cgroup.c lib/confine.c lib/capabilities.c lib/send-fds.c lib/run-directory.c lib/register.c lib/notify.c lib/thread.c lib/tick.c lib/paragraph.c lib/units.c lib/options.c)
$(PLUGINS:%=$(B)/libexec/plugins/%): $(B)/libexec/plugins/%: $(B)/obj/plugins/%.o $(call objects,$(PLUGIN_SRC) lib/nearest-word.c lib/paragraph.c lib/units.c lib/wire.c lib/disk.c)

$(B)/libexec/muse/analyse:   $(call objects,libexec/muse/analyse.c libexec/muse/result.c $(MUSE_SRC) lib/units.c lib/options.c)
$(B)/libexec/muse/run:       $(call objects,$(addprefix libexec/muse/,run.c command.c drain.c events.c experiment.c load.c phases.c remote.c reserve.c samples.c) $(CLIENT) lib/clock.c lib/units.c lib/options.c)
# All pairs of marks: what vectors are for.
$(B)/obj/libexec/muse/separations.o: CFLAGS += -O3

$(B)/experiments/jobs:       $(call objects,test/experiments/jobs.c)
$(B)/experiments/negotiation: $(call objects,$(addprefix test/bench/,negotiation.c client.c samples.c))

$(BIN:%=$(B)/bin/%) $(FRONT_C:%=$(B)/libexec/front/%) $(B)/libexec/rtf-threads: LDLIBS = -ljansson
$(B)/libexec/front/rtf-top: LDLIBS += -lncurses
$(MUSE:%=$(B)/libexec/muse/%): LDLIBS = -ljansson -lm
$(B)/libexec/rtf-brokerd: LDLIBS = -ljansson -lcap-ng -lseccomp
$(B)/libexec/rtf-reader: LDLIBS = -ljansson -lseccomp
$(B)/libexec/rtf-attach $(B)/libexec/rtf-adopter $(B)/libexec/rtf-logger $(B)/libexec/rtf-publisher $(B)/libexec/rtf-guard: LDLIBS = -lcap-ng -lseccomp
$(B)/libexec/rtf-names: LDLIBS = -lcap-ng
$(B)/libexec/rtf-as-user: LDLIBS = -ljansson -lcap-ng -lseccomp
$(B)/libexec/rtf-disk: LDLIBS = -lcap-ng -lseccomp
$(B)/libexec/rtf-net: LDLIBS = -lcap-ng -lseccomp -lnl-route-3 -lnl-3
$(B)/libexec/rtf-rtkit: LDLIBS = -ljansson -lcap-ng -lseccomp -lsystemd
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
ATTACKS = $(B)/test/identity $(B)/test/inherit $(B)/test/reuse
$(ATTACKS): $(B)/test/%: $(B)/obj/test/attack/%.o
TOOLS = $(B)/test/kernel-view $(B)/test/overrun $(B)/test/rtkit-client $(B)/bed/slow-disk $(ATTACKS)
$(filter-out $(ATTACKS) $(B)/bed/%,$(TOOLS)): $(B)/test/%: $(B)/obj/test/%.o
$(B)/bed/slow-disk: $(call objects,contrib/bed/slow-disk.c)
$(B)/test/overrun: $(call objects,libexec/guard/suspension.c lib/clock.c $(ENFORCE_SRC))
$(B)/test/rtkit-client: LDLIBS = -lsystemd
$(B)/bed/slow-disk: LDLIBS = -lfuse3

$(MUSE_SH:%=$(B)/libexec/muse/%): $(B)/libexec/muse/%: libexec/muse/%
	@mkdir -p $(@D)
	install $< $@
# Places are seen from where a script lies: the tree can be moved, and a DESTDIR is one.
VERSION := $(shell sed -n 's/^.define RTF_VERSION "\(.*\)"/\1/p' lib/version.h)
from    = $(shell realpath -m --relative-to=$(1) $(2))
placed  = sed -e 's,@VERSION@,$(VERSION),g' -e 's,@BIN@,$(1),g' -e 's,@LIBEXEC@,$(2),g' -e 's,@MAN@,$(3),g'
$(B)/bin/rtf: bin/rtf lib/version.h Makefile
	@mkdir -p $(@D)
	$(call placed,,../libexec,../man) $< > $@.new && chmod 755 $@.new && mv $@.new $@
$(SCRIPT:%=$(B)/libexec/%): $(B)/libexec/%: libexec/admin/% lib/version.h Makefile
	@mkdir -p $(@D)
	$(call placed,../bin) $< > $@.new && chmod 755 $@.new && mv $@.new $@
$(addprefix $(B)/libexec/front/,$(FRONT_SED)): $(B)/libexec/front/%: libexec/front/% lib/version.h Makefile
	@mkdir -p $(@D)
	$(call placed,../../bin) $< > $@.new && chmod 755 $@.new && mv $@.new $@
$(addprefix $(B)/libexec/front/,$(FRONT) $(FRONT_DATA)): $(B)/libexec/front/%: libexec/front/%
	@mkdir -p $(@D)
	install $< $@
OURS = $(B)/bin/rtf $(MUSE_SH:%=$(B)/libexec/muse/%) $(SCRIPT:%=$(B)/libexec/%) $(addprefix $(B)/libexec/front/,$(FRONT) $(FRONT_DATA) $(FRONT_SED))

$(filter-out $(OURS),$(PROGRAMS)) $(ORACLE) $(B)/test/periodic $(TOOLS) $(B)/experiments/jobs $(B)/experiments/negotiation $(B)/bench/bench $(B)/bench/paper $(B)/bench/library $(B)/bench/clients $(B)/bench/users $(B)/bench/single $(B)/bench/flood $(B)/bench/muse-mark $(B)/bench/muse-disturbance:
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# What rtf preload puts in front of libc.
$(PRELOAD): $(patsubst %.c,$(B)/pic/%.o,$(wildcard libexec/preload/*.c) $(LIBRARY_SRC)) libexec/preload/preload.map
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -shared -Wl,--version-script=libexec/preload/preload.map -Wl,-z,defs -o $@ $(filter %.o,$^) -ljansson
$(B)/lib/librtf.so.0: $(patsubst %.c,$(B)/pic/%.o,$(LIBRARY_SRC)) lib/librtf/librtf.map
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -shared -Wl,-soname,librtf.so.0 -Wl,--version-script=lib/librtf/librtf.map -Wl,-z,defs -o $@ $(filter %.o,$^) -ljansson
$(B)/lib/librtf.so: $(B)/lib/librtf.so.0
	ln -sf librtf.so.0 $@
# One object, of which only the calls are global: a program may have a client_open of its own.
$(B)/lib/librtf.a: $(patsubst %.c,$(B)/pic/%.o,$(LIBRARY_SRC)) lib/librtf/librtf.map
	@mkdir -p $(@D)
	$(LD) -r -o $(@:.a=.o) $(filter %.o,$^)
	$(OBJCOPY) $$(sed -n 's/^ *\(rtf_[a-z_]*\);/--keep-global-symbol=\1/p' lib/librtf/librtf.map) $(@:.a=.o)
	rm -f $@
	$(AR) rcs $@ $(@:.a=.o)
OBJCOPY ?= objcopy

$(B)/pic/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -fPIC $(call sees,$<) -MMD -MP -c -o $@ $<

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
UNITS = timers units wire disk disk-place disk-way reader-files group-limits ledger debts desires acl spec window fair-queue scans plugin-lines nearest child-budget supervise $(MUSE_UNITS)
MUSE_UNITS = muse-supply muse-marks muse-phases
EDGE  = $(call of_broker,main.c attach.c event.c guard.c reconcile.c dispatch.c pipeline.c plugins.c readers.c launcher.c) lib/cgroup.c lib/clock.c lib/tick.c
unit: $(UNITS:%=$(B)/unit/%)
	test/unit/run $^
$(MUSE_UNITS:%=$(B)/unit/%): $(call objects,$(MUSE_SRC))
$(MUSE_UNITS:%=$(B)/unit/%): LDLIBS = -lm
$(B)/unit/muse-phases: $(call objects,libexec/muse/phases.c)
$(UNITS:%=$(B)/unit/%): $(B)/unit/%: $(call objects,test/unit/%.c $(addprefix test/unit/,unit.c clock.c told.c) test/stubs.c) $(B)/unit/rtf.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka -ljansson $(LDLIBS)
$(B)/unit/group-limits: $(call objects,libexec/disk/group-limits.c)
$(B)/unit/disk-way: $(call objects,libexec/disk/way.c lib/thread.c)
$(B)/unit/reader-files: $(call objects,libexec/reader/files.c)
$(B)/unit/reader-files: LDLIBS = $(B)/unit/rtf.a -ljansson
$(B)/unit/child-budget: $(call objects,libexec/broker/launcher/child-budget.c)
$(B)/unit/nearest: | $(PLUGINS:%=$(B)/libexec/plugins/%)
# Not worth compiling once more under sanitizers: what no unit test has come to.
NO_UNIT = $(addprefix libexec/broker/,startup/% launcher/% report/%) $(call of_broker,reassign.c privileges.c reload.c serving.c watchdog.c acl-tell.c adjustments.c \
    drift.c apply-grant.c execve.c placement.c spare-capacity.c thread-events.c tracepoint.c claims.c ask-plugins.c neighbours.c refusals.c directories.c place.c recover.c) \
    $(addprefix lib/,client-% rtf-% confine.c disk-option.c held-signals.c net-option.c notify.c options.c capabilities.c register.c run-directory.c)
$(B)/unit/rtf.a: $(call objects,$(filter-out $(EDGE) $(NO_UNIT),$(BROKER_SRC) $(wildcard lib/*.c)) libexec/guard/budget-window.c) Makefile
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $(filter %.o,$^)

# The tests in test/fault at every system call instead of some, with 2,000 random kills: hours. And a million requests.
faults: all $(TOOLS)
	IDENTITY_ROUNDS=20 BATS_TEST_TIMEOUT=14400 test/run test/attack/identity.bats
	DEBT_SECONDS=8 DEBT_SEEDS="$$(seq -s ' ' 100)" BATS_TEST_TIMEOUT=14400 test/run test/zero-lag.bats
	DRY_SEEDS="$$(seq -s ' ' 100)" DRY_RUNS=200 BATS_TEST_TIMEOUT=14400 test/run test/dry-run.bats
	ATTACHMENTS=100 BATS_TEST_TIMEOUT=14400 test/run test/partition.bats
	TOP_THREADS=5000 test/run test/front/top.bats
	STORM_SECONDS=60 test/run test/library.bats
	RTF_TURN=all FAULT_STEP=1 FAULT_FIRST=1 FAULT_KILLS=2000 BATS_TEST_TIMEOUT=14400 test/run test/fault/*.bats
soak: all $(TOOLS)
	SOAK_REQUESTS=1000000 BATS_TEST_TIMEOUT=3600 test/run test/attack/soak.bats

# How long a single user waits for a verdict while another floods the spool; and 49 users for 1,000 verdicts, while the fiftieth does.
fairness: programs $(B)/bench/single $(B)/bench/clients $(B)/bench/flood
	BUILD=$(B) test/bench/fairness-single $(if $(QUICK),2)
	BUILD=$(B) test/bench/fairness $(if $(QUICK),1)
# What 1,000 users cost, and how long the first spec of each takes.
crowd: programs $(B)/bench/users
	BUILD=$(B) test/bench/crowd
# What it costs to ask, against the bare floor. QUICK=1: in less than a minute.
bench: programs $(B)/bench/bench $(B)/bench/clients
	$(B)/bench/bench --build $(B) --json $(B)/bench/bench.json $(if $(QUICK),--quick) $(OPTIONS)
$(B)/bench/bench:   $(call objects,$(addprefix test/bench/,bench.c operations.c flat.c others.c domain.c broker.c client.c floor.c samples.c) lib/cgroup.c lib/thread.c lib/paragraph.c lib/units.c)
$(B)/bench/bench:   LDLIBS = -ljansson
# Figures 3 to 5 of paper 000. QUICK=1: in some minutes instead of hours. The pictures need gnuplot.
bench-paper: programs $(B)/bench/paper
	@mkdir -p $(B)/bench/figures
	$(B)/bench/paper --build $(B) --output $(B)/bench/figures $(if $(QUICK),--quick) $(OPTIONS)
	cd $(B)/bench/figures && gnuplot $(CURDIR)/test/bench/paper.gnuplot
$(B)/bench/paper:   $(call objects,$(addprefix test/bench/,paper.c broker.c client.c samples.c))
$(B)/bench/paper:   LDLIBS = -lcap-ng
# rtf_spec_create against bench's own client.
bench-library: programs $(B)/bench/library
	$(B)/bench/library $(B) $(if $(QUICK),200)
$(B)/bench/library: $(call objects,$(addprefix test/bench/,library.c broker.c client.c samples.c)) $(B)/lib/librtf.a
$(B)/bench/library: LDLIBS = -ljansson -pthread
$(B)/bench/clients: $(call objects,test/bench/clients.c)
$(B)/bench/users:   $(call objects,test/bench/users.c)
$(B)/bench/single:  $(call objects,$(addprefix test/bench/,single.c client.c samples.c))
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

# MakeThreadRealtime of rtf-rtkit against RealtimeKit's. Needs Debian's dbus, rtkit and polkitd.
bench-rtkit: programs $(B)/test/rtkit-client
	BUILD=$(B) test/bench/rtkit

# How long an analysis takes, what a mark costs, whether one is lost, and what that takes from who is measured. QUICK=1: without the million, and half
# a minute of marks. ONLY=disturbance: only the last.
bench-muse: programs $(B)/bench/muse-mark $(B)/bench/muse-disturbance
	BUILD=$(B) test/bench/muse
$(B)/bench/muse-mark: $(call objects,test/bench/muse-mark.c)
$(B)/bench/muse-disturbance: $(call objects,test/bench/muse-disturbance.c $(addprefix libexec/muse/,command.c drain.c experiment.c load.c phases.c reserve.c) $(CLIENT) lib/units.c)
$(B)/bench/muse-disturbance: LDLIBS = -ljansson -lm

# The experiments of paper 004 (contrib/muse), on all CPUs. QUICK=1: some minutes instead of an hour.
muse-experiments: programs
	BUILD=$(CURDIR)/$(B) contrib/muse/run

# The same tests with programs that stop at the first wrong access or undefined result.
SANITIZED = B=build/sanitized CFLAGS='-O1 -g' SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer'
check-sanitized:
	ASAN_OPTIONS=handle_segv=0:handle_sigbus=0:handle_sigfpe=0 RTF_MEMORY_SLACK=1000000 $(MAKE) --no-print-directory $(SANITIZED) check
unit-sanitized:
	$(MAKE) --no-print-directory $(SANITIZED) unit

# Each parser takes random bytes for so many seconds, beginning with the inputs in test/fuzz/corpus (test/fuzz/seeds). Needs clang and libclang-rt-dev.
SECONDS ?= 60
FUZZERS = spec acl plugins-conf plugin helper state reader adopter muse-experiment muse-marks
fuzzers: $(FUZZERS:%=$(B)/fuzz/%)
fuzz: fuzzers
	test/fuzz/run $(B)/fuzz $(SECONDS) $(FUZZERS)

FUZZ_FLAGS = -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -O1 -g \
    -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
fuzzed = $(patsubst %.c,$(B)/fuzz/obj/%.o,test/fuzz/fuzz.c test/stubs.c $(call of_broker,config-lines.c $(1)) \
    $(SPEC_SRC) $(addprefix lib/,clock.c nearest-word.c resource.c wire.c disk.c name.c snapshot.c paragraph.c units.c thread.c tick.c $(2)))
$(B)/fuzz/plugins-conf: $(call fuzzed)
$(B)/fuzz/spec: $(call fuzzed,plugin-lines.c)
# What every resource is by, and what that needs of the ledger.
KINDS = plugin-lines.c resource-kinds.c resource-cpu.c resource-amount.c ledger.c background.c
$(B)/fuzz/state: $(call fuzzed,$(KINDS) expiry.c wait-queue.c memory.c loop.c timers.c)
$(addprefix $(B)/fuzz/,plugin helper reader adopter): $(call fuzzed,$(KINDS) coprocess.c loop.c timers.c,send-fds.c)
$(B)/fuzz/acl: $(call fuzzed,$(KINDS) acl.c acl-judge.c names.c fair-queue.c coprocess.c loop.c timers.c,send-fds.c)
$(addprefix $(B)/fuzz/,muse-experiment muse-marks): $(patsubst %.c,$(B)/fuzz/obj/%.o,test/fuzz/fuzz.c $(MUSE_SRC) lib/units.c)
$(addprefix $(B)/fuzz/,muse-experiment muse-marks): LDLIBS = -lm
$(FUZZERS:%=$(B)/fuzz/%): $(B)/fuzz/%: $(B)/fuzz/obj/test/fuzz/%.o
	clang $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ -ljansson $(LDLIBS)
$(B)/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	clang $(FUZZ_FLAGS) $(call sees,test/$<) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

# What the papers found, measured here; test/experiments/README.md. All of them, even if one does not hold.
experiments: all $(B)/experiments/jobs $(B)/experiments/negotiation $(B)/bed/slow-disk
	@status=0; for experiment in 'periodic-tasks cpu-time' 'periodic-tasks rt-app' greedy-shares late-arrival renewal players runaway negotiation readers streams case-study; do \
	    test/experiments/$$experiment || status=1; done; exit $$status

# Is what was granted kept? On the real kernel, for an hour; QUICK=1: for a minute. test/experiments/lateness.md
lateness: programs $(B)/test/periodic $(B)/test/kernel-view
	test/experiments/lateness --build $(B) $(if $(QUICK),--sets 2 --seconds 3) $(OPTIONS)

# Under Debian's own kernels (also PREEMPT_RT) and systemd, in virtual machines. Some minutes; too long for each change.
vm-check: all $(TOOLS)
	test/vm/check $(TESTS)

SCRIPTS = $(filter-out %.bats,$(shell grep -lE '^\#!/bin/(sh|bash)' .ci/* bin/* libexec/* libexec/front/* libexec/muse/* contrib/* contrib/bed/* contrib/init/* contrib/model/* contrib/muse/* contrib/mutate/run contrib/plugins/* test/* test/unit/* test/vm/* test/deb/* test/fuzz/* test/attack/* test/bench/* 2>/dev/null))

# What clangd compiles each file with.
define compiled
{"directory": "$(CURDIR)", "file": "$(1)", "command": "$(CC) $(strip $(ALL_CFLAGS) $(call sees,$(1))) -c $(1)"}
endef
compile_commands.json:
	$(file >$@,[$(subst } {,}$(comma) {,$(foreach file,$(SOURCES),$(call compiled,$(file))))])
comma = ,

# Each transition of contrib/model/journal.pml has the function that it stands for. Needs spin.
model:
	contrib/model/run
# ONLY=REGEX: faults whose names match.
mutate: all $(TOOLS)
	contrib/mutate/run

# Patches and names that lag behind the source are told, and are no error here: who changes a line need not know them.
lint: $(SOURCES:%=$(B)/lint/%)
	shellcheck -x $(SCRIPTS)
	test/circles
	test/hollow
	test/lanes
	test/acts-as-users
	contrib/mutate/run --check
	contrib/model/run --check

# One stamp for each source: only what has changed is read again, and -j reads several at once.
$(B)/lint/%.c: %.c .clang-tidy test/tidy $(wildcard test/lint/*.h test/lint/bsd/sys/*.h lib/*.h libexec/*.h $(BROKER:%=%/*.h) libexec/reader/*.h plugins/*.h test/oracle/*.h test/*.h test/unit/*.h test/fuzz/*.h)
	@mkdir -p $(@D)
	test/tidy $< -std=c17 -D_GNU_SOURCE -isystem test/lint $(call sees,$<)
	@touch $@

# What administrators type; its parts are found where the program itself is.
SBIN = rtf-brokerd rtf-brokers rtf-invariants rtf-disk rtf-lint rtf-net rtf-partition rtf-probe
install: all
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBEXECDIR)/plugins $(DESTDIR)$(SYSCONFDIR)/rtf
	install $(BIN:%=$(B)/bin/%) $(DESTDIR)$(BINDIR)
	install $(LIBEXEC:%=$(B)/libexec/%) $(filter-out %.jq %.awk,$(SCRIPT:%=$(B)/libexec/%)) $(DESTDIR)$(LIBEXECDIR)
	install -m 644 $(filter %.jq %.awk,$(SCRIPT:%=$(B)/libexec/%)) $(DESTDIR)$(LIBEXECDIR)
	install -d $(DESTDIR)$(SBINDIR)
	for program in $(SBIN); do ln -sf $(call from,$(SBINDIR),$(LIBEXECDIR))/$$program $(DESTDIR)$(SBINDIR)/$$program; done
	install -d $(DESTDIR)$(LIBEXECDIR)/muse
	install $(addprefix $(B)/libexec/muse/,$(MUSE) $(MUSE_SH)) $(DESTDIR)$(LIBEXECDIR)/muse
	install $(PLUGINS:%=$(B)/libexec/plugins/%) $(DESTDIR)$(LIBEXECDIR)/plugins
	install -d $(DESTDIR)$(LIBEXECDIR)/front
	$(call placed,,$(call from,$(BINDIR),$(LIBEXECDIR)),$(call from,$(BINDIR),$(MANDIR))) bin/rtf | install /dev/stdin $(DESTDIR)$(BINDIR)/rtf
	install $(addprefix $(B)/libexec/front/,$(FRONT) $(FRONT_C)) $(DESTDIR)$(LIBEXECDIR)/front
	install -m 644 $(addprefix $(B)/libexec/front/,$(FRONT_DATA)) $(DESTDIR)$(LIBEXECDIR)/front
	for part in front.sh:644 complete:755; do $(call placed,$(call from,$(LIBEXECDIR)/front,$(BINDIR))) libexec/front/$${part%:*} | \
	    install -m $${part#*:} /dev/stdin $(DESTDIR)$(LIBEXECDIR)/front/$${part%:*}; done
	install -D -m 644 contrib/completions/rtf.bash $(DESTDIR)$(BASHDIR)/rtf
	install -D -m 644 contrib/completions/_rtf $(DESTDIR)$(ZSHDIR)/_rtf
	install -D -m 644 contrib/completions/rtf.fish $(DESTDIR)$(FISHDIR)/rtf.fish
	ln -sf rtf $(DESTDIR)$(BASHDIR)/rtf-run
	ln -sf rtf $(DESTDIR)$(BASHDIR)/rtf-wait
	install -m 644 $(PRELOAD) $(DESTDIR)$(LIBEXECDIR)
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)
	install -m 644 $(B)/lib/librtf.so.0 $(B)/lib/librtf.a $(DESTDIR)$(LIBDIR)
	ln -sf librtf.so.0 $(DESTDIR)$(LIBDIR)/librtf.so
	sed -e 's,@VERSION@,$(VERSION),; s,@LIBDIR@,$(LIBDIR),; s,@INCLUDEDIR@,$(INCLUDEDIR),' lib/librtf/librtf.pc.in | install -m 644 /dev/stdin $(DESTDIR)$(LIBDIR)/pkgconfig/librtf.pc
	install -m 644 lib/librtf/rtf.h $(DESTDIR)$(INCLUDEDIR)
	for page in $(MAN); do \
	    install -D -m 644 $(B)/man/$$page $(DESTDIR)$(MANDIR)/man$${page##*.}/$$page; done
	for file in plugins.conf acl.conf; do \
	    test -e $(DESTDIR)$(SYSCONFDIR)/rtf/$$file || install -m 644 etc/$$file $(DESTDIR)$(SYSCONFDIR)/rtf/$$file; done
	install -d $(DESTDIR)$(UNITDIR)
	sed 's,@LIBEXECDIR@,$(LIBEXECDIR),g' etc/rtf.service | install -m 644 /dev/stdin $(DESTDIR)$(UNITDIR)/rtf.service
	install -D -m 644 etc/rtf.sysusers $(DESTDIR)$(SYSUSERSDIR)/rtf.conf
	install -D -m 644 etc/rtf.tmpfiles $(DESTDIR)$(TMPFILESDIR)/rtf.conf
	test -e $(DESTDIR)$(LOGROTATEDIR)/rtf || install -D -m 644 etc/rtf.logrotate $(DESTDIR)$(LOGROTATEDIR)/rtf

# Of another package than the rest: RealtimeKit's own files have these names.
DBUSDIR  ?= $(PREFIX)/share/dbus-1
install-rtkit: all
	install -D -m 644 contrib/rtkit/org.freedesktop.RealtimeKit1.conf $(DESTDIR)$(DBUSDIR)/system.d/org.freedesktop.RealtimeKit1.conf
	install -d $(DESTDIR)$(DBUSDIR)/system-services $(DESTDIR)$(UNITDIR)
	sed 's,@LIBEXECDIR@,$(LIBEXECDIR),g' contrib/rtkit/org.freedesktop.RealtimeKit1.service | \
	    install -m 644 /dev/stdin $(DESTDIR)$(DBUSDIR)/system-services/org.freedesktop.RealtimeKit1.service
	sed 's,@LIBEXECDIR@,$(LIBEXECDIR),g' contrib/rtkit/rtf-rtkit.service | install -m 644 /dev/stdin $(DESTDIR)$(UNITDIR)/rtf-rtkit.service

# Debian's packages of what git has, in build/deb. Needs debhelper and what debian/control names.
deb:
	rm -rf $(B)/deb && mkdir -p $(B)/deb/rtf
	git ls-files -z | xargs -0 cp --parents -t $(B)/deb/rtf
	cp -r contrib/debian $(B)/deb/rtf/debian
	cd $(B)/deb/rtf && dpkg-buildpackage --build=binary --no-sign

# The packages in a clean Debian 12. Needs debootstrap.
deb-check:
	test/deb/check

# What install would put there now goes, but for configuration that was changed by hand; the spool and its log stay, too.
CONFIGURATION = $(SYSCONFDIR)/rtf/plugins.conf $(SYSCONFDIR)/rtf/acl.conf $(LOGROTATEDIR)/rtf
uninstall:
	@broker=$(DESTDIR)$(LIBEXECDIR)/rtf-brokerd && test ! -x "$${broker}" || "$${broker%d}s" 2>/dev/null | cut -f 1 | while read -r process; do \
	    test "$$(readlink "/proc/$$process/exe")" != "$$(readlink -f "$$broker")" || { echo "the broker of this installation runs ($$process): end it first, which puts all threads back"; exit 1; }; done
	@stage=$$(mktemp -d) && trap 'rm -rf "$$stage"' EXIT && $(MAKE) -s --no-print-directory install DESTDIR="$$stage" && cd "$$stage" && \
	for file in $(CONFIGURATION:/%=%); do \
	    test ! -e "$(DESTDIR)/$$file" || cmp -s "$$file" "$(DESTDIR)/$$file" || { echo "kept, for it was changed: $(DESTDIR)/$$file"; rm "$$file"; }; done && \
	find . ! -type d | while read -r file; do rm -f "$(DESTDIR)/$${file#./}"; done && \
	find .$(LIBEXECDIR) .$(SYSCONFDIR)/rtf -depth -type d | while read -r room; do \
	    test ! -d "$(DESTDIR)/$${room#./}" || rmdir --ignore-fail-on-non-empty "$(DESTDIR)/$${room#./}"; done

clean:
	rm -rf build

-include $(patsubst %.c,$(B)/obj/%.d,$(SOURCES))
-include $(patsubst %.c,$(B)/pic/%.d,$(SOURCES))
-include $(patsubst %.c,$(B)/fuzz/obj/%.d,$(SOURCES))
