# Programs on top, rules below. Objects and programs go to build/; `make install` copies them.

# Turns off the rules of make itself. No rule here uses them, but make would try each of them for each file: 0.6 s instead of 0.05 s to see that there
# is nothing to do.
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
# Debian's zsh looks for the completions of packages in a directory of its own.
ZSHDIR     ?= $(PREFIX)/share/zsh/$(if $(and $(filter /usr,$(PREFIX)),$(wildcard /etc/debian_version)),vendor-completions,site-functions)
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
# Debian's python3 looks for the modules of packages in one directory for all its versions, and below /usr/local in one directory for each version.
PYTHONDIR  ?= $(PREFIX)/lib/$(if $(filter /usr,$(PREFIX)),python3,$(or $(shell /usr/bin/python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])' 2>/dev/null),python3))/dist-packages
FISHDIR    ?= $(PREFIX)/share/fish/vendor_completions.d
DOCDIR     ?= $(PREFIX)/share/doc/rtf

B       ?= build
CC      ?= cc
CFLAGS  ?= -O2 -g
WARN     = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wswitch-enum
SANITIZE =
ALL_CFLAGS = -std=c17 -D_GNU_SOURCE $(WARN) $(SANITIZE) $(CFLAGS)

# Rooms: directories whose sources make programs. A program is linked from its own source, and from the objects that it needs of its room and of lib/.
BROKER   := libexec/broker $(patsubst %/,%,$(wildcard libexec/broker/*/))
ROOMS    := attach tasks guard adopter names log publisher net disk rtkit admin programs
BROKER_SRC := $(wildcard $(BROKER:%=%/*.c))
of_broker  = $(filter $(addprefix %/,$(1)),$(BROKER_SRC))

# The headers that a source file sees, besides the headers beside it. A program sees no header of another program, unless it names the room:
# "guard/promotions.h". Tests see everything.
NL_CFLAGS := $(shell pkg-config --cflags libnl-route-3.0)
FUSE_CFLAGS := $(shell pkg-config --cflags fuse3)
TRACE_CFLAGS := $(shell pkg-config --cflags libtraceevent)
sees    = -Ilib -Ilib/librtf $(if $(filter contrib/bed/slow-disk.c,$(1)),$(FUSE_CFLAGS)) $(if $(filter libexec/net/%,$(1)),$(NL_CFLAGS)) $(if $(filter libexec/watch/%,$(1)),$(TRACE_CFLAGS)) $(if $(filter plugins/% test/%,$(1)),-Iplugins) $(if $(filter libexec/% test/%,$(1)),-Ilibexec) \
    $(if $(filter libexec/broker/% test/%,$(1)),$(BROKER:%=-I%)) $(if $(filter test/%,$(1)),-Itest/fuzz)

BIN      = rtf-run rtf-wait
of_rooms = $(notdir $(basename $(wildcard $(ROOMS:%=libexec/%/rtf-*.c))))
LIBEXEC := rtf-brokerd rtf-reader rtf-watch $(of_rooms)
SCRIPT   = rtf-invariants rtf-lint rtf-invariants.jq rtf-lint.awk
# Commands of rtf(1). FRONT: in sh. FRONT_C: in C, with the programs that read logs and status.json for the commands in sh. FRONT_DATA, FRONT_SED:
# files that the commands in sh share.
FRONT    := $(notdir $(filter-out %.c,$(wildcard libexec/front/rtf-*)))
FRONT_C  := $(notdir $(basename $(wildcard libexec/front/rtf-*.c))) log-lines status-lines run-learn
FRONT_DATA = admin.sh front.jq acl.jq commands $(patsubst libexec/front/%,%,$(wildcard libexec/front/doctor/*.sh))
FRONT_SED  = front.sh complete
PLUGINS  = edf rm fp rr net disk
# rtf muse: a command in sh, and programs of its own in the room libexec/muse.
MUSE     = analyse run
MUSE_SH  = report supply-word sweep
MAN      := $(notdir $(basename $(wildcard man/*.scd)))

# Slurm's headers are seldom here, so only `make slurm` needs them (contrib/slurm).
HAS_SLURM := $(wildcard /usr/include/slurm/spank.h)
SOURCES  := $(sort $(wildcard bin/*.c test/*.c test/*/*.c contrib/bed/*.c contrib/examples/*.c contrib/oci/*.c $(if $(HAS_SLURM),$(wildcard contrib/slurm/*.c)) lib/*.c lib/librtf/*.c libexec/*/*.c libexec/front/request/*.c plugins/*.c) $(BROKER_SRC))

PROGRAMS = $(B)/bin/rtf $(addprefix $(B)/libexec/front/,$(FRONT) $(FRONT_C) $(FRONT_DATA) $(FRONT_SED)) $(BIN:%=$(B)/bin/%) $(LIBEXEC:%=$(B)/libexec/%) $(addprefix $(B)/libexec/muse/,$(MUSE) $(MUSE_SH)) $(SCRIPT:%=$(B)/libexec/%) $(PLUGINS:%=$(B)/libexec/plugins/%)

# librtf: programs link with it. Its code is position-independent, and only the names in librtf.map are global.
LIBRARY_SRC := lib/units.c lib/parse-time.c $(wildcard lib/librtf/*.c)
LIBRARY     = $(B)/lib/librtf.so.0 $(B)/lib/librtf.so $(B)/lib/librtf.a
# The hook for containers (contrib/oci).
OCI         = $(B)/oci/rtf-oci
# The library that rtf preload puts in front of libc.
PRELOAD     = $(B)/libexec/rtf-preload.so

# `make help` prints these lines.
#: all (the default)     build everything, to build/
#: check                 build, and run all tests; TESTS=FILE... for some files, FILTER=REGEX with one file for some of its tests
#: unit, unit-sanitized  unit tests, without and with sanitizers
#: check-sanitized       all tests, with sanitizers
#: check-clients         the clients in Go and Rust; needs go and rustc
#: lint                  clang-tidy, shellcheck, and the rules of the source
#: format                put all C files into the form of .clang-format
#: fuzzers, fuzz         build the fuzzers; run each (SECONDS=, RUNS=)
#: faults, soak          a kill and an error at every system call; a million requests: hours
#: mutate                which tests notice faults that are put into a copy (ONLY=REGEX)
#: model                 the order of journal and calls, with a crash at any point
#: oracle, acceptance    simulated schedules against what the plugins admit; how much each admits
#: experiments, lateness, muse-experiments  measure what the papers measured
#: bench, bench-paper, bench-library, bench-rtkit, bench-muse, fairness, crowd  what rtf costs (QUICK=1)
#: install, install-rtkit, install-oci, install-tools, uninstall  (PREFIX=, DESTDIR=)
#: deb, deb-check        Debian packages; their test in a clean Debian
#: vm-check              tests under other kernels, in virtual machines
#: compile_commands.json for clangd
#: programs, library, man  parts of all
#: clean                 remove build/
.PHONY: all programs library man install-tools install-oci unit unit-sanitized check check-sanitized check-clients faults soak fairness crowd bench bench-muse bench-paper bench-rtkit bench-library muse-experiments vm-check fuzzers fuzz oracle acceptance experiments lateness lint format model mutate help compile_commands.json install install-rtkit deb deb-check uninstall clean
all: programs library man $(OCI)
library: $(LIBRARY) $(PRELOAD)
programs: $(PROGRAMS)
help:
	@sed -n 's/^#: //p' Makefile
man: $(MAN:%=$(B)/man/%)

objects = $(patsubst %.c,$(B)/obj/%.o,$(1))

# Code that programs share. The linker takes the parts that a program needs.
LIB  = $(B)/lib.a
$(LIB): $(call objects,$(wildcard lib/*.c lib/librtf/*.c))

# $(call room,DIRECTORY,WHERE PROGRAMS GO,PROGRAMS,SOURCES OF OTHER ROOMS): each program has one source of the directory. All other sources go into an
# archive, from which each program takes what it needs.
define room
$(B)/$(1).a: $(call objects,$(filter-out $(3:%=$(1)/%.c),$(wildcard $(1)/*.c)) $(4))
$(3:%=$(2)/%): $(2)/%: $(B)/obj/$(1)/%.o $(B)/$(1).a $(LIB)
endef
$(eval $(call room,bin,$(B)/bin,$(BIN)))
$(foreach name,$(ROOMS),$(eval $(call room,libexec/$(name),$(B)/libexec,$(notdir $(basename $(wildcard libexec/$(name)/rtf-*.c))))))
$(eval $(call room,libexec/front,$(B)/libexec/front,$(FRONT_C),$(wildcard libexec/front/request/*.c libexec/watch/*.c) libexec/preload/profile.c))
$(eval $(call room,libexec/muse,$(B)/libexec/muse,$(MUSE),libexec/watch/trace-instance.c libexec/watch/recording-guard.c))
$(eval $(call room,libexec/tracer,$(B)/libexec,rtf-watch,$(wildcard libexec/watch/*.c)))
# rtf learn: all other programs of the room need none of this.
$(B)/libexec/front.a: $(call objects,$(wildcard libexec/learn/*.c))
$(eval $(call room,plugins,$(B)/libexec/plugins,$(PLUGINS)))
$(B)/libexec/rtf-brokerd: $(call objects,$(BROKER_SRC)) $(LIB)
$(B)/libexec/rtf-reader:  $(call objects,$(wildcard libexec/reader/*.c)) $(LIB)

$(B)/%.a:
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $^

# Libraries. The linker takes the ones that a program uses, of this list and of the lines below.
LDLIBS = -Wl,--as-needed -ljansson -lcap-ng -lseccomp
$(B)/libexec/front/rtf-top: LDLIBS += -lncurses
$(B)/libexec/front/rtf-ls:  LDLIBS += -lsmartcols
$(B)/libexec/front/rtf-trace $(B)/libexec/front/rtf-why $(B)/libexec/rtf-watch: LDLIBS += -ltraceevent
$(B)/libexec/rtf-net:       LDLIBS += -lnl-route-3 -lnl-3
$(B)/libexec/rtf-rtkit:     LDLIBS += -lsystemd
$(MUSE:%=$(B)/libexec/muse/%): LDLIBS += -lm
$(PLUGINS:%=$(B)/libexec/plugins/%): LDLIBS = -lgmp
# A reader is started whenever a user comes back. A static program starts in half the time. STATIC= links it dynamically, because sanitizers need
# that.
STATIC ?= $(if $(SANITIZE),,-static-pie)
$(B)/libexec/rtf-reader:    LDFLAGS += $(STATIC)
# separations.c looks at all pairs of marks: -O3 makes vector instructions of that.
$(B)/obj/libexec/muse/separations.o: CFLAGS += -O3

# Tools of the tests, and attacks. The attacks also run on other kernels (test/vm), where there is no compiler.
ATTACKS = $(B)/test/identity $(B)/test/inherit $(B)/test/reuse
TOOLS   = $(B)/test/kernel-view $(B)/test/worker $(B)/test/group-times $(B)/test/overrun $(B)/test/misses $(B)/test/rtkit-client $(B)/test/stolen-time $(B)/bed/slow-disk $(ATTACKS)
$(ATTACKS): $(B)/test/%: $(B)/obj/test/attack/%.o
$(B)/test/group-times $(B)/test/kernel-view $(B)/test/misses $(B)/test/overrun $(B)/test/rtkit-client $(B)/test/stolen-time $(B)/test/worker: $(B)/test/%: $(B)/obj/test/%.o
$(B)/test/overrun:      $(B)/libexec/guard.a $(LIB)
$(B)/test/group-times:  $(LIB)
$(B)/test/rtkit-client: LDLIBS = -lsystemd
$(B)/test/worker:       LDLIBS = -lm
$(B)/bed/slow-disk:     $(call objects,contrib/bed/slow-disk.c)
$(B)/bed/slow-disk:     LDLIBS = -lfuse3
$(OCI): $(call objects,contrib/oci/rtf-oci.c) $(LIB)
LINKED = $(OCI) $(BIN:%=$(B)/bin/%) $(LIBEXEC:%=$(B)/libexec/%) $(FRONT_C:%=$(B)/libexec/front/%) $(MUSE:%=$(B)/libexec/muse/%) $(PLUGINS:%=$(B)/libexec/plugins/%) $(TOOLS)

$(MUSE_SH:%=$(B)/libexec/muse/%): $(B)/libexec/muse/%: libexec/muse/%
	@mkdir -p $(@D)
	install $< $@
# Paths in a script are relative to the script itself, so the tree can be moved, and DESTDIR can be used.
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

# The library that rtf preload puts in front of libc.
$(PRELOAD): $(patsubst %.c,$(B)/pic/%.o,$(wildcard libexec/preload/*.c) $(LIBRARY_SRC)) libexec/preload/preload.map
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -shared -Wl,--version-script=libexec/preload/preload.map -Wl,-z,defs -o $@ $(filter %.o,$^) -ljansson
$(B)/lib/librtf.so.0: $(patsubst %.c,$(B)/pic/%.o,$(LIBRARY_SRC)) lib/librtf/librtf.map
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -shared -Wl,-soname,librtf.so.0 -Wl,--version-script=lib/librtf/librtf.map -Wl,-z,defs -o $@ $(filter %.o,$^) -ljansson
$(B)/lib/librtf.so: $(B)/lib/librtf.so.0
	ln -sf librtf.so.0 $@
# One object in which only the calls of librtf.map are global: so a program may have a function client_open of its own.
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

check: tested unit
	test/run $(TESTS)
# Everything that tests run, also the programs of unit tests (test/unit/rules.mk).
tested: all $(TOOLS) $(if $(HAS_SLURM),slurm)

# faults: the tests in test/fault at every system call instead of some, with 2,000 random kills; takes hours. soak: a million requests.
faults: all $(TOOLS)
	IDENTITY_ROUNDS=20 BATS_TEST_TIMEOUT=14400 test/run test/attack/identity.bats
	DEBT_SECONDS=8 DEBT_SEEDS="$$(seq -s ' ' 100)" BATS_TEST_TIMEOUT=14400 test/run test/zero-lag.bats
	DRY_SEEDS="$$(seq -s ' ' 100)" DRY_RUNS=200 BATS_TEST_TIMEOUT=14400 test/run test/dry-run.bats
	ATTACHMENTS=100 BATS_TEST_TIMEOUT=14400 test/run test/partition.bats
	TOP_THREADS=5000 test/run test/front/top.bats
	STORM_SECONDS=60 test/run test/library.bats
	RTF_TURN=all FAULT_STEP=1 FAULT_FIRST=1 FAULT_KILLS=2000 PROGRAM_KILLS=200 PROGRAM_SECONDS=60 BATS_TEST_TIMEOUT=14400 test/run test/fault/*.bats
soak: all $(TOOLS)
	SOAK_REQUESTS=1000000 BATS_TEST_TIMEOUT=3600 test/run test/attack/soak.bats

# The experiments of paper 004 (contrib/muse), on all CPUs. QUICK=1: some minutes instead of an hour.
muse-experiments: programs
	BUILD=$(CURDIR)/$(B) contrib/muse/run

# The clients in Go and Rust (contrib/go, contrib/rust). Their compilers are too large for `make check`.
GO    ?= $(shell command -v go)
RUSTC ?= $(shell command -v rustc)
check-clients: all $(TOOLS)
	GO=$(GO) RUSTC=$(RUSTC) test/run test/clients/clients.bats

# All tests, with programs that end at the first wrong memory access or undefined result. A report names functions and lines, for which -g1 suffices.
SANITIZED = B=build/sanitized CFLAGS='-O1 -g1' SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer'
check-sanitized:
	ASAN_OPTIONS=handle_segv=0:handle_sigbus=0:handle_sigfpe=0 RTF_MEMORY_SLACK=1000000 $(MAKE) --no-print-directory $(SANITIZED) check
unit-sanitized:
	$(MAKE) --no-print-directory $(SANITIZED) unit

# Tests under Debian's own kernels (also PREEMPT_RT) and systemd, in virtual machines. They take some minutes, too long for each change.
vm-check: all $(TOOLS)
	test/vm/check $(TESTS)

SCRIPTS = $(filter-out %.bats,$(shell grep -lE '^\#!/bin/(sh|bash)' .ci/* bin/* libexec/admin/* libexec/front/* libexec/muse/* contrib/* contrib/bed/* contrib/init/* contrib/model/* contrib/muse/* contrib/mutate/run contrib/oci/* contrib/plugins/* contrib/slurm/* test/* test/unit/* test/vm/* test/deb/* test/fuzz/* test/attack/* test/bench/* 2>/dev/null))

# The command that compiles each file, for clangd.
define compiled
{"directory": "$(CURDIR)", "file": "$(1)", "command": "$(CC) $(strip $(ALL_CFLAGS) $(call sees,$(1))) -c $(1)"}
endef
compile_commands.json:
	$(file >$@,[$(subst } {,}$(comma) {,$(foreach file,$(SOURCES),$(call compiled,$(file))))])
comma = ,

# Checks the model of the journal with spin. Each transition of contrib/model/journal.pml names the function that it stands for.
model:
	contrib/model/run
# ONLY=REGEX: only the faults whose names match.
mutate: all $(TOOLS)
	contrib/mutate/run

# `lint` prints which patches and names no longer fit the source. That is no error here, because the author of a
# change need not know them. test/lint has headers of other projects, for clang-tidy.
FORMATTED = $(filter-out test/lint/%,$(sort $(SOURCES) $(wildcard bin/*.h contrib/slurm/*.h lib/*.h lib/librtf/*.h libexec/*/*.h libexec/*/*/*.h plugins/*.h test/*.h test/*/*.h)))
format:
	clang-format -i $(FORMATTED)

lint: $(SOURCES:%=$(B)/lint/%) | programs
	clang-format --dry-run --Werror $(FORMATTED)
	shellcheck -x $(SCRIPTS)
	test/circles
	test/floors
	test/hollow
	test/mutables $(B)/obj
	test/parts
	test/lanes
	test/acts-as-users
	test/sentences
	contrib/mutate/run --check
	contrib/model/run --check

# Each source has a stamp: lint reads only the sources that have changed, and with -j several at once.
$(B)/lint/%.c: %.c .clang-tidy test/tidy $(wildcard test/lint/*.h test/lint/bsd/sys/*.h lib/*.h lib/librtf/*.h libexec/*/*.h $(BROKER:%=%/*.h) plugins/*.h test/*.h test/*/*.h)
	@mkdir -p $(@D)
	test/tidy $< -std=c17 -D_GNU_SOURCE -isystem test/lint $(call sees,$<)
	@touch $@

# Commands for administrators, in SBINDIR. They find other programs of rtf beside the program itself.
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
	install -d $(DESTDIR)$(LIBEXECDIR)/front/doctor
	for part in $(FRONT_DATA); do install -m 644 $(B)/libexec/front/$$part $(DESTDIR)$(LIBEXECDIR)/front/$$part; done
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
	install -D -m 644 contrib/python/rtf/__init__.py contrib/python/rtf/py.typed -t $(DESTDIR)$(PYTHONDIR)/rtf
	for page in $(MAN); do \
	    install -D -m 644 $(B)/man/$$page $(DESTDIR)$(MANDIR)/man$${page##*.}/$$page; done
	for file in plugins.conf acl.conf; do \
	    test -e $(DESTDIR)$(SYSCONFDIR)/rtf/$$file || install -m 644 etc/$$file $(DESTDIR)$(SYSCONFDIR)/rtf/$$file; done
	install -d $(DESTDIR)$(SYSCONFDIR)/rtf/programs.d $(DESTDIR)$(DOCDIR)/examples/programs.d
	install -m 644 etc/programs.d/*.json $(DESTDIR)$(DOCDIR)/examples/programs.d
	install -d $(DESTDIR)$(DOCDIR)/examples/metrics
	for file in $(notdir $(wildcard contrib/metrics/*)); do sed 's,/usr/bin/,$(BINDIR)/,' contrib/metrics/$$file | \
	    install -m 644 /dev/stdin $(DESTDIR)$(DOCDIR)/examples/metrics/$$file; done
	install -d $(DESTDIR)$(UNITDIR)
	sed 's,@LIBEXECDIR@,$(LIBEXECDIR),g' etc/rtf.service | install -m 644 /dev/stdin $(DESTDIR)$(UNITDIR)/rtf.service
	install -D -m 644 etc/rtf.sysusers $(DESTDIR)$(SYSUSERSDIR)/rtf.conf
	install -D -m 644 etc/rtf.tmpfiles $(DESTDIR)$(TMPFILESDIR)/rtf.conf
	test -e $(DESTDIR)$(LOGROTATEDIR)/rtf || install -D -m 644 etc/rtf.logrotate $(DESTDIR)$(LOGROTATEDIR)/rtf

# These files are in another package than the rest, because RealtimeKit's own files have these names.
DBUSDIR  ?= $(PREFIX)/share/dbus-1
install-rtkit: all
	install -D -m 644 contrib/rtkit/org.freedesktop.RealtimeKit1.conf $(DESTDIR)$(DBUSDIR)/system.d/org.freedesktop.RealtimeKit1.conf
	install -d $(DESTDIR)$(DBUSDIR)/system-services $(DESTDIR)$(UNITDIR)
	sed 's,@LIBEXECDIR@,$(LIBEXECDIR),g' contrib/rtkit/org.freedesktop.RealtimeKit1.service | \
	    install -m 644 /dev/stdin $(DESTDIR)$(DBUSDIR)/system-services/org.freedesktop.RealtimeKit1.service
	sed 's,@LIBEXECDIR@,$(LIBEXECDIR),g' contrib/rtkit/rtf-rtkit.service | install -m 644 /dev/stdin $(DESTDIR)$(UNITDIR)/rtf-rtkit.service

# A hook for the containers of runc and crun, and the files by which podman and CRI-O call the hook (contrib/oci). Both look below /usr, and podman
# also below /etc.
HOOKSDIR ?= $(if $(filter /usr,$(PREFIX)),$(PREFIX)/share,$(SYSCONFDIR))/containers/oci/hooks.d
install-oci: $(OCI)
	install -d $(DESTDIR)$(LIBEXECDIR) $(DESTDIR)$(HOOKSDIR) $(DESTDIR)$(MANDIR)/man8
	install $(OCI) $(DESTDIR)$(LIBEXECDIR)
	for stage in createRuntime poststart; do sed 's,@LIBEXECDIR@,$(LIBEXECDIR),' contrib/oci/rtf-$$stage.json | \
	    install -m 644 /dev/stdin $(DESTDIR)$(HOOKSDIR)/rtf-$$stage.json; done
	scdoc < contrib/oci/rtf-oci.8.scd | install -m 644 /dev/stdin $(DESTDIR)$(MANDIR)/man8/rtf-oci.8

# Makes Debian's packages of the files that git has, in build/deb. Needs debhelper and the packages that debian/control names.
deb:
	rm -rf $(B)/deb && mkdir -p $(B)/deb/rtf
	git ls-files -z | xargs -0 cp --parents -t $(B)/deb/rtf
	cp -r contrib/debian $(B)/deb/rtf/debian
	cd $(B)/deb/rtf && dpkg-buildpackage --build=binary --no-sign

# Tests the packages in a clean Debian 12. Needs debootstrap.
deb-check:
	test/deb/check

# Removes the files that `make install` would install, except configuration that was changed by hand. The spool and its log stay.
CONFIGURATION = $(SYSCONFDIR)/rtf/plugins.conf $(SYSCONFDIR)/rtf/acl.conf $(LOGROTATEDIR)/rtf
uninstall:
	@broker=$(DESTDIR)$(LIBEXECDIR)/rtf-brokerd && test ! -x "$${broker}" || "$${broker%d}s" 2>/dev/null | cut -f 1 | while read -r process; do \
	    test "$$(readlink "/proc/$$process/exe")" != "$$(readlink -f "$$broker")" || { echo "the broker of this installation runs ($$process): end it first, which puts all threads back"; exit 1; }; done
	@stage=$$(mktemp -d) && trap 'rm -rf "$$stage"' EXIT && $(MAKE) -s --no-print-directory install DESTDIR="$$stage" && cd "$$stage" && \
	for file in $(CONFIGURATION:/%=%); do \
	    test ! -e "$(DESTDIR)/$$file" || cmp -s "$$file" "$(DESTDIR)/$$file" || { echo "kept, because it was changed: $(DESTDIR)/$$file"; rm "$$file"; }; done && \
	find . ! -type d | while read -r file; do rm -f "$(DESTDIR)/$${file#./}"; done && \
	rm -rf "$(DESTDIR)$(PYTHONDIR)/rtf/__pycache__" && \
	find .$(LIBEXECDIR) .$(SYSCONFDIR)/rtf .$(DOCDIR) .$(PYTHONDIR)/rtf -depth -type d | while read -r room; do \
	    test ! -d "$(DESTDIR)/$${room#./}" || rmdir --ignore-fail-on-non-empty "$(DESTDIR)/$${room#./}"; done

clean:
	rm -rf build

# Tests and measurements have their rules beside them. These rules add the programs that they link to LINKED.
-include test/unit/rules.mk test/fuzz/rules.mk test/oracle/rules.mk test/experiments/rules.mk test/bench/rules.mk contrib/slurm/rules.mk

$(LINKED):
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

-include $(patsubst %.c,$(B)/obj/%.d,$(SOURCES))
-include $(patsubst %.c,$(B)/pic/%.d,$(SOURCES))
-include $(patsubst %.c,$(B)/fuzz/obj/%.d,$(SOURCES))
