# `make slurm` builds what Slurm needs to carry reservations over many machines (rtf-slurm(7)), if Slurm's headers are here (libslurm-dev).
SLURM     = $(B)/slurm/spank_rtf.so $(B)/slurm/rtf-slurm-hold
SLURM_SRC = contrib/slurm/request.c contrib/slurm/node.c lib/name.c $(LIBRARY_SRC)
SLURMDIR ?= $(LIBDIR)/rtf/slurm
pic       = $(patsubst %.c,$(B)/pic/%.o,$(1))

.PHONY: slurm install-slurm
slurm: $(SLURM)
$(B)/pic/contrib/slurm/spank_rtf.o: override CFLAGS += -DHOLDER='"$(LIBEXECDIR)/rtf-slurm-hold"'
$(B)/slurm/spank_rtf.so: $(call pic,$(addprefix contrib/slurm/,spank_rtf.c gang.c srun-end.c step-layout.c) $(SLURM_SRC)) contrib/slurm/spank_rtf.map
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -shared -Wl,--version-script=contrib/slurm/spank_rtf.map -o $@ $(filter %.o,$^) -ljansson
$(B)/slurm/rtf-slurm-hold: $(call pic,contrib/slurm/rtf-slurm-hold.c $(SLURM_SRC))
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -ljansson
install-slurm: slurm
	install -d $(DESTDIR)$(SLURMDIR) $(DESTDIR)$(LIBEXECDIR) $(DESTDIR)$(DOCDIR)/examples/slurm
	install -m 644 $(B)/slurm/spank_rtf.so $(DESTDIR)$(SLURMDIR)
	install $(B)/slurm/rtf-slurm-hold contrib/slurm/rtf-slurm-epilog contrib/slurm/rtf-slurm-sweep $(DESTDIR)$(LIBEXECDIR)
	install -m 644 contrib/slurm/cli_filter.lua $(DESTDIR)$(DOCDIR)/examples/slurm
