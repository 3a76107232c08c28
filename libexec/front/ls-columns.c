#include "ls-columns.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "client.h"
#include "command-line.h"
#include "units.h"

static const char *const headings[LS_COLUMNS] = {
    [LS_USER] = "USER",         [LS_NAME] = "NAME",       [LS_STATE] = "STATE",
    [LS_PLUGIN] = "PLUGIN",     [LS_POLICY] = "POLICY",   [LS_CPUS] = "CPUS",
    [LS_PRIORITY] = "PRIORITY", [LS_RUNTIME] = "RUNTIME", [LS_PERIOD] = "PERIOD",
    [LS_DEADLINE] = "DEADLINE", [LS_SHARE] = "SHARE",     [LS_EXPIRES] = "EXPIRES",
    [LS_TID] = "TID",           [LS_COMMAND] = "COMMAND", [LS_RESULT] = "RESULT",
    [LS_ANSWERED] = "ANSWERED", [LS_REASON] = "REASON"};

__attribute__((noreturn)) static void no_column(const char *option, const char *text)
{
    command_wrong(
        "%s %s: columns are USER, NAME, STATE, PLUGIN, POLICY, CPUS, PRIORITY, RUNTIME, PERIOD, DEADLINE, SHARE, EXPIRES, TID, COMMAND, RESULT, "
        "ANSWERED and REASON",
        option, command_typed(text));
}

enum ls_column ls_column_named(const char *option, const char *text, const char *word)
{
    for (enum ls_column column = LS_USER; column < LS_COLUMNS; column++)
        if (strcasecmp(word, headings[column]) == 0)
            return column;
    no_column(option, text);
}

const char *ls_heading(enum ls_column column)
{
    return column < LS_COLUMNS ? headings[column] : "";
}

static bool is_null(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return value == NULL || json_is_null(value);
}

/* Writes a time in us as text: 1500 is "1500us", 5000 is "5ms". */
static const char *time_text(const json_t *object, const char *key, char text[static LS_CELL])
{
    return is_null(object, key) ? "-" : format_time((uint64_t)ls_number(object, key), text);
}

static const char *number_text(const json_t *object, const char *key, char text[static LS_CELL])
{
    if (is_null(object, key))
        return "-";
    snprintf(text, LS_CELL, "%lld", (long long)ls_number(object, key));
    return text;
}

static const char *word(const json_t *object, const char *key)
{
    const char *text = client_string(object, key);
    return text == NULL || text[0] == '\0' ? "-" : text;
}

static const char *share_text(const json_t *grant, char text[static LS_CELL])
{
    const json_int_t share = ls_number(grant, "utilization");
    return share <= 0 ? "-" : format_utilization((uint64_t)share, text);
}

/* Writes the time until a lease ends, in tenths of a second, seconds, minutes, hours or days. */
static const char *left_text(int64_t left, char text[static LS_CELL])
{
    static const int64_t s = 1000000, min = 60 * s, h = 60 * min, d = 24 * h;
    if (left < 0)
        return "-";
    if (left < 10 * s)
        snprintf(text, LS_CELL, "%d.%ds", (int)(left / s), (int)(left % s / (s / 10)));
    else if (left < 2 * min)
        snprintf(text, LS_CELL, "%llds", (long long)(left / s));
    else if (left < 2 * h)
        snprintf(text, LS_CELL, "%lldmin", (long long)(left / min));
    else if (left < 2 * d)
        snprintf(text, LS_CELL, "%lldh", (long long)(left / h));
    else
        snprintf(text, LS_CELL, "%lldd", (long long)(left / d));
    return text;
}

const char *ls_cell(const struct ls_row *row, enum ls_column column, char text[static LS_CELL])
{
    const json_t *grant = json_object_get(row->verdict, "grant"),
                 *thread = json_object_get(row->verdict, "thread");
    switch (column) {
    case LS_USER: return row->user;
    case LS_NAME: return row->name;
    case LS_STATE: return state_name(row->state);
    case LS_PLUGIN: return word(grant, "plugin");
    case LS_POLICY: return word(grant, "policy");
    case LS_CPUS: return word(grant, "cpus");
    case LS_PRIORITY: return number_text(grant, "priority", text);
    case LS_RUNTIME:
        return time_text(grant, is_null(grant, "accepted_runtime") ? "runtime" : "accepted_runtime",
                         text);
    case LS_PERIOD: return time_text(grant, "period", text);
    case LS_DEADLINE: return time_text(grant, "deadline", text);
    case LS_SHARE: return share_text(grant, text);
    case LS_EXPIRES: return left_text(row->left, text);
    case LS_TID: return number_text(thread, "tid", text);
    case LS_COMMAND: return row->comm[0] == '\0' ? "-" : row->comm;
    case LS_RESULT: return word(row->verdict, "result");
    case LS_ANSWERED: return word(row->verdict, "time");
    case LS_REASON: return word(row->verdict, "reason");
    case LS_COLUMNS: break;
    }
    return "-";
}

json_int_t ls_amount(const struct ls_row *row, enum ls_column column)
{
    static const char *const keys[LS_COLUMNS] = {[LS_PRIORITY] = "priority",
                                                 [LS_PERIOD] = "period",
                                                 [LS_DEADLINE] = "deadline",
                                                 [LS_SHARE] = "utilization"};
    const json_t *grant = json_object_get(row->verdict, "grant"),
                 *thread = json_object_get(row->verdict, "thread");
    const bool is_runtime = column == LS_RUNTIME, is_tid = column == LS_TID;
    const char *key = is_runtime
                          ? is_null(grant, "accepted_runtime") ? "runtime" : "accepted_runtime"
                      : is_tid ? "tid"
                               : keys[column];
    if (column == LS_EXPIRES)
        return row->left;
    if (column == LS_STATE)
        return row->state;
    const json_int_t value = key == NULL ? 0 : ls_number(is_tid ? thread : grant, key);
    return value > 0 ? value : -1;
}
