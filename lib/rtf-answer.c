#include "rtf-own.h"

/* A handle that has never been used is like one of which nothing is known. */
#define GETTER(type, name, value, none) \
    type name(const struct rtf_spec *spec) \
    { \
        return spec->own == NULL ? (none) : (value); \
    }

GETTER(enum rtf_result, rtf_spec_result, spec->own->result, RTF_ERROR)
GETTER(const char *, rtf_spec_reason, spec->own->reason, "")
GETTER(const char *, rtf_spec_code, spec->own->code, "")
GETTER(uint64_t, rtf_spec_nearest, spec->own->nearest, 0)
GETTER(bool, rtf_spec_is_granted, spec->own->granted, false)
GETTER(uint64_t, rtf_spec_get_accepted_runtime, atomic_load(&spec->own->accepted_runtime), 0)
GETTER(uint64_t, rtf_spec_get_period, atomic_load(&spec->own->period), 0)
GETTER(uint64_t, rtf_spec_get_deadline, spec->own->deadline, 0)
GETTER(const char *, rtf_spec_get_name, spec->own->name, "")
GETTER(const char *, rtf_spec_get_plugin, spec->own->plugin, "")
GETTER(const char *, rtf_spec_get_policy, spec->own->policy, "")
GETTER(const char *, rtf_spec_get_cpus, spec->own->cpus, "")
GETTER(pid_t, rtf_spec_get_thread, spec->own->thread, 0)
GETTER(bool, rtf_spec_is_attached, spec->own->attached, false)
