# Each fuzzer runs for this many seconds, and begins with the inputs in test/fuzz/corpus (test/fuzz/seeds). Needs clang and libclang-rt-dev.
SECONDS ?= 60
FUZZERS = spec acl plugins-conf plugin helper state reader adopter muse-experiment muse-marks
fuzzers: $(FUZZERS:%=$(B)/fuzz/%)
fuzz: fuzzers
	test/fuzz/run $(B)/fuzz $(SECONDS) $(FUZZERS)

FUZZ_FLAGS = -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -O1 -g \
    -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
fuzzed = $(patsubst %.c,$(B)/fuzz/obj/%.o,test/fuzz/fuzz.c test/stubs.c $(call of_broker,config-lines.c $(1)) \
    $(addprefix lib/,$(notdir $(wildcard lib/spec.c lib/spec-*.c)) program-file.c matching-rule.c clock.c extras.c nearest-word.c resource.c roots-file.c wire.c disk.c name.c snapshot.c paragraph.c units.c parse-time.c thread.c tick.c $(2)))
$(B)/fuzz/plugins-conf: $(call fuzzed,side-by-side.c)
$(B)/fuzz/spec: $(call fuzzed,plugin-lines.c)
# Every resource needs these files: its kind, and the ledger with its dependencies.
KINDS = plugin-lines.c side-by-side.c resource-kinds.c resource-cpu.c resource-amount.c ledger.c background.c
$(B)/fuzz/state: $(call fuzzed,$(KINDS) expiry.c wait-queue.c memory.c loop.c timers.c)
$(addprefix $(B)/fuzz/,plugin helper reader adopter): $(call fuzzed,$(KINDS) supervise.c coprocess.c loop.c timers.c,send-fds.c)
$(B)/fuzz/acl: $(call fuzzed,$(KINDS) acl-parse.c acl-weight.c acl-judge.c acl-extras.c max-user-threads.c min-runtime.c names.c fair-queue.c supervise.c coprocess.c loop.c timers.c,send-fds.c)
$(addprefix $(B)/fuzz/,muse-experiment muse-marks): $(patsubst %.c,$(B)/fuzz/obj/%.o,test/fuzz/fuzz.c $(addprefix libexec/muse/,events.c experiment-file.c experiment-reading.c experiment-values.c experiment-phases.c experiment-threads.c marks.c measure.c separations.c supply.c) lib/units.c lib/parse-time.c lib/thread.c lib/paragraph.c lib/tracing.c libexec/watch/trace-instance.c libexec/watch/recording-guard.c)
$(addprefix $(B)/fuzz/,muse-experiment muse-marks): LDLIBS = -lm
$(FUZZERS:%=$(B)/fuzz/%): $(B)/fuzz/%: $(B)/fuzz/obj/test/fuzz/%.o
	clang $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ -ljansson $(LDLIBS)
$(B)/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	clang $(FUZZ_FLAGS) $(call sees,test/$<) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

