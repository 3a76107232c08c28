#include "rtf-unasked-change.h"
#include "rtf-verdict.h"

/* Returns the private state of the handle, after it has parsed the broker's answer; NULL: the
 * handle was never used. */
static const struct rtf_spec_own *own_of(const struct rtf_spec *spec)
{
    if (spec->own != NULL && atomic_load(&spec->own->unread) != NULL)
        own_read(spec->own);
    return spec->own;
}

#define GETTER(type, name, value, none)                \
    type name(const struct rtf_spec *spec)             \
    {                                                  \
        const struct rtf_spec_own *own = own_of(spec); \
        return own == NULL ? (none) : (value);         \
    }

GETTER(enum rtf_result, rtf_spec_result, own->result, RTF_ERROR)
GETTER(const char *, rtf_spec_reason, own->reason, "")
GETTER(const char *, rtf_spec_code, own->code, "")
GETTER(uint64_t, rtf_spec_nearest, own->nearest, 0)
GETTER(uint64_t, rtf_spec_nearest_minimum, own->nearest_minimum, 0)
GETTER(uint64_t, rtf_spec_get_accepted_runtime, atomic_load(&own->accepted_runtime), 0)
GETTER(uint64_t, rtf_spec_get_period, atomic_load(&own->period), 0)
GETTER(uint64_t, rtf_spec_get_deadline, own->deadline, 0)
GETTER(const char *, rtf_spec_get_name, own->name, "")
GETTER(const char *, rtf_spec_get_plugin, own->plugin, "")
GETTER(const char *, rtf_spec_get_policy, own->policy, "")
GETTER(const char *, rtf_spec_get_cpus, own->cpus, "")
GETTER(const char *, rtf_spec_get_mode, own->mode, "")
GETTER(uint64_t, rtf_spec_get_runtime_in_mode, own->runtime_in_mode, 0)
GETTER(pid_t, rtf_spec_get_thread, own->thread, 0)

uint64_t rtf_spec_get_accepted_amount(const struct rtf_spec *spec, const char *resource)
{
    const struct rtf_spec_own *own = own_of(spec);
    const int text = own == NULL || resource == NULL ? -1 : own_text_of(resource);
    return text >= OWN_UNITS && text <= OWN_THREADS ? own->amounts[text - OWN_UNITS] : 0;
}

/* rtf_spec_is_granted and rtf_spec_is_attached look at the present verdict (own_refresh), because
 * programs call them in loops to learn the present state. The getters above do not look at the
 * present verdict. */
bool rtf_spec_is_granted(const struct rtf_spec *spec)
{
    if (spec->own != NULL)
        own_refresh(spec->own);
    const struct rtf_spec_own *own = own_of(spec);
    return own != NULL && own->granted;
}

bool rtf_spec_is_attached(const struct rtf_spec *spec)
{
    if (spec->own != NULL)
        own_refresh(spec->own);
    const struct rtf_spec_own *own = own_of(spec);
    return own != NULL && own->attached;
}
