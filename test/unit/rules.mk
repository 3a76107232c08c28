# Tests in C of code that only computes: no root, no spool, no threads, and a clock of the tests' own (test/unit/README.md). Each program links the
# broker's objects that it needs. For objects that act on the world, test/unit has stubs. Needs cmocka.
UNITS = timers units lent-ranks lock-limit lock-sweep wire program-file disk disk-place disk-way reader-files group-limits ledger debts desires acl spec window overuse kernel-setting fair-queue scans plugin-lines nearest child-budget supervise timeline lateness scrub usage learn adapt-law slurm-request followed next-time $(REQUEST_UNITS) $(MUSE_UNITS)
# Tests of whole requests. fakes.c compiles in the state machine. The wrapped functions are those of the kernel, the journal and the accounts.
REQUEST_UNITS = pipeline ask-plugins apply-grant reconcile refusals spare-capacity thread-events execve recover
WRAPPED = thread_find thread_look thread_is thread_attributes thread_has_ended thread_started attachment_watch attachment_keep_watch reservation_record journal_gone account_ready allocator_finish attach_given
MUSE_UNITS = muse-supply muse-marks muse-phases
EDGE  = $(call of_broker,main.c attach.c event.c guard.c reconcile.c dispatch.c pipeline.c plugins.c readers.c launcher.c) lib/cgroup.c lib/clock.c lib/tick.c
unit: $(UNITS:%=$(B)/unit/%)
	test/unit/run $^
tested: $(UNITS:%=$(B)/unit/%)
.PHONY: tested
$(MUSE_UNITS:%=$(B)/unit/%): $(B)/libexec/muse.a
$(MUSE_UNITS:%=$(B)/unit/%): LDLIBS = -lm
$(UNITS:%=$(B)/unit/%): $(B)/unit/%: $(call objects,test/unit/%.c $(addprefix test/unit/,unit.c clock.c told.c) test/stubs.c) $(B)/unit/rtf.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ -Wl,--start-group $^ -Wl,--end-group -lcmocka -ljansson $(LDLIBS)
$(REQUEST_UNITS:%=$(B)/unit/%): $(call objects,test/unit/fakes.c $(call of_broker,reconcile.c reload.c owner.c ask-plugins.c claims.c neighbours.c least-change.c refusals.c spare-capacity.c \
    apply-grant.c adjustments.c drift.c))
$(REQUEST_UNITS:%=$(B)/unit/%): LDFLAGS += $(WRAPPED:%=-Wl,--wrap=%)
$(addprefix $(B)/unit/,thread-events execve): $(call objects,$(call of_broker,thread-events.c execve.c))
$(B)/unit/recover: $(call objects,$(filter-out %/tell-detached.c,$(filter libexec/broker/recovery/%,$(BROKER_SRC))) $(call of_broker,execve.c))
$(B)/unit/recover: LDFLAGS += $(addprefix -Wl$(comma)--wrap=,nanosleep allocators_settle allocators_end allocators_put_back allocators_know_raised)
$(B)/unit/group-limits: $(call objects,libexec/disk/group-limits.c)
$(B)/unit/disk-way: $(call objects,libexec/disk/way.c lib/thread.c)
$(B)/unit/kernel-setting: $(call objects,libexec/attach/kernel-setting.c)
$(B)/unit/lent-ranks: $(call objects,$(addprefix libexec/guard/,lent-ranks.c thread-rank.c))
$(B)/unit/lock-limit: $(call objects,libexec/attach/lock-limit.c)
$(B)/unit/lock-sweep: $(call objects,libexec/attach/inherited-lock-limit.c libexec/attach/lock-limit.c lib/apply-result.c)
$(B)/unit/lock-sweep: LDFLAGS += $(addprefix -Wl$(comma)--wrap=,opendir readdir closedir fopen prlimit syscall thread_identify thread_is thread_has_ended)
$(B)/unit/reader-files: $(call objects,libexec/reader/files.c)
$(B)/unit/timeline: $(call objects,libexec/watch/timeline.c libexec/watch/lost-events.c libexec/watch/recording.c libexec/watch/trace-json.c libexec/watch/trace-gantt.c lib/librtf/client-escape.c)
$(B)/unit/lateness: $(call objects,$(addprefix libexec/watch/,timeline.c lost-events.c stretches.c lateness-causes.c call-kinds.c occupancy.c))
$(B)/unit/scrub: $(call objects,libexec/tracer/scrub.c libexec/watch/occupancy.c libexec/watch/call-kinds.c)
$(B)/unit/usage: $(call objects,libexec/front/usage-periods.c libexec/front/usage-look.c libexec/front/usage-marks.c)
$(B)/unit/child-budget: $(call objects,libexec/broker/launcher/child-budget.c)
$(B)/unit/nearest: | $(PLUGINS:%=$(B)/libexec/plugins/%)
# Code that no unit test reaches: it need not be compiled again under sanitizers.
NO_UNIT = $(addprefix libexec/broker/,startup/% launcher/% report/% recovery/% inspection/% log/log-writer.c) $(call of_broker,reassign.c privileges.c reload.c serving.c systemd-watchdog.c adjustments.c \
    drift.c apply-grant.c execve.c placement.c spare-capacity.c thread-events.c tracepoint.c trace-door.c owner.c claims.c ask-plugins.c neighbours.c least-change.c refusals.c directories.c) \
    $(addprefix lib/,apply-result.c capabilities.c confine.c cpuset-domains.c cpuset-leaf.c demote.c disk-option.c held-signals.c helper-loop.c kernel-refusal.c net-option.c \
    notify.c options.c register.c retry.c scheduling.c)
$(B)/unit/learn: $(call objects,$(addprefix libexec/learn/,behaviour.c bursts.c job-times.c rhythm.c rhythm-candidates.c))
$(B)/unit/learn: LDLIBS = -lm
$(B)/unit/adapt-law: $(call objects,libexec/learn/adapt-law.c)
$(B)/unit/slurm-request: $(call objects,contrib/slurm/request.c)
$(B)/unit/followed $(B)/unit/next-time: $(B)/libexec/front.a $(LIB)
$(B)/unit/followed: LDFLAGS += $(addprefix -Wl$(comma)--wrap=,keeper_start keeper_granted keeper_has_ended keeper_end)
$(B)/unit/rtf.a: $(call objects,$(filter-out $(EDGE) $(NO_UNIT),$(BROKER_SRC) $(wildcard lib/*.c)) libexec/guard/overrun-window.c libexec/guard/overuse.c) Makefile test/unit/rules.mk
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $(filter %.o,$^)

