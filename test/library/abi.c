/* Checks the parts of rtf.h that are compiled into old programs: the numbers of results, and the
 * sizes of structures. The names of functions are in contrib/debian/librtf0.symbols. */
#include <rtf.h>

#define IS(number, name) _Static_assert((number) == (name), #name)

IS(0, RTF_OK);
IS(1, RTF_SCHEDULE_FAIL);
IS(2, RTF_ACL_FAIL);
IS(3, RTF_CONNECTION_ERR);
IS(4, RTF_ATTACH_FAIL);
IS(5, RTF_BAD_SPEC);
IS(6, RTF_PENDING);
IS(7, RTF_TIMEOUT);
IS(8, RTF_GONE);
IS(9, RTF_ERROR);
IS(sizeof(void *), sizeof(struct rtf_connection));
IS(sizeof(void *), sizeof(struct rtf_spec));
IS(512, sizeof(struct rtf_params));
IS(1, _Alignof(struct rtf_params));

/* Checks the result and the parameters of calls of each kind. */
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a type has none */
#define TYPE(call, type) _Static_assert(_Generic(&(call), type : 1, default : 0), #call)

TYPE(rtf_connect, enum rtf_result (*)(struct rtf_connection *, const char *));
TYPE(rtf_disconnect, void (*)(struct rtf_connection *));
TYPE(rtf_set_timeout, void (*)(struct rtf_connection *, uint64_t));
TYPE(rtf_set_blocking, void (*)(struct rtf_connection *, bool));
TYPE(rtf_fd, int (*)(struct rtf_connection *));
TYPE(rtf_process, enum rtf_result (*)(struct rtf_connection *));
TYPE(rtf_params_set_period, void (*)(struct rtf_params *, uint64_t));
TYPE(rtf_params_set_runtime, void (*)(struct rtf_params *, uint64_t));
TYPE(rtf_params_set_des_runtime, void (*)(struct rtf_params *, uint64_t));
TYPE(rtf_params_set_deadline, void (*)(struct rtf_params *, uint64_t));
TYPE(rtf_params_set_priority, void (*)(struct rtf_params *, unsigned));
TYPE(rtf_params_set_scheduler, enum rtf_result (*)(struct rtf_params *, const char *));
TYPE(rtf_params_ignore_admission, void (*)(struct rtf_params *, bool));
TYPE(rtf_params_set_importance, void (*)(struct rtf_params *, unsigned));
TYPE(rtf_params_set_weight, void (*)(struct rtf_params *, unsigned));
TYPE(rtf_params_set_dry_run, void (*)(struct rtf_params *, bool));
TYPE(rtf_params_set_modes, enum rtf_result (*)(struct rtf_params *, const char *));
TYPE(rtf_params_set_claim, enum rtf_result (*)(struct rtf_params *, const char *, const char *));
TYPE(rtf_params_from_spec, enum rtf_result (*)(struct rtf_params *, struct rtf_spec *));
TYPE(rtf_spec_get_accepted_amount, uint64_t (*)(const struct rtf_spec *, const char *));
TYPE(rtf_spec_create,
     enum rtf_result (*)(struct rtf_connection *, struct rtf_spec *, const struct rtf_params *));
TYPE(rtf_spec_create_attached, enum rtf_result (*)(struct rtf_connection *, struct rtf_spec *,
                                                   const struct rtf_params *, pid_t));
TYPE(rtf_spec_find, enum rtf_result (*)(struct rtf_connection *, struct rtf_spec *, const char *));
TYPE(rtf_spec_change, enum rtf_result (*)(struct rtf_spec *, const struct rtf_params *));
TYPE(rtf_spec_release, enum rtf_result (*)(struct rtf_spec *));
TYPE(rtf_spec_attach, enum rtf_result (*)(struct rtf_spec *, pid_t));
TYPE(rtf_spec_detach, enum rtf_result (*)(struct rtf_spec *));
TYPE(rtf_spec_nearest, uint64_t (*)(const struct rtf_spec *));
TYPE(rtf_spec_nearest_minimum, uint64_t (*)(const struct rtf_spec *));
TYPE(rtf_spec_get_accepted_runtime, uint64_t (*)(const struct rtf_spec *));
TYPE(rtf_spec_get_thread, pid_t (*)(const struct rtf_spec *));
TYPE(rtf_spec_reason, const char *(*)(const struct rtf_spec *));
TYPE(rtf_task_start, enum rtf_result (*)(struct rtf_spec *));
TYPE(rtf_task_wait_period, uint64_t (*)(struct rtf_spec *));
TYPE(rtf_task_wait, enum rtf_result (*)(struct rtf_spec *, uint64_t *));
TYPE(rtf_task_activation, int64_t (*)(const struct rtf_spec *));
TYPE(rtf_status_free_on, uint64_t (*)(const struct rtf_status *, const char *, int));

int main(void)
{
    return 0;
}
