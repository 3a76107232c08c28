/* Writes parameters as the text of a spec file, and reads such a text into parameters. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rtf-own.h"
#include "units.h"

static const char *const text_keys[OWN_TEXTS] = {[OWN_MODES] = "modes",
                                                 [OWN_UNITS] = "units",
                                                 [OWN_NETWORK] = "network",
                                                 [OWN_DISK] = "disk",
                                                 [OWN_THREADS] = "threads"};

int own_text_of(const char *key)
{
    for (int i = 0; i < OWN_TEXTS; i++)
        if (text_keys[i] != NULL && strcmp(text_keys[i], key) == 0)
            return i;
    return -1;
}

/* ---- writing ---- */

/* The text of a spec that is being written. The text is made without jansson, because jansson takes
 * as long as writing the file. Only strings that may hold any character go through jansson. */
struct text {
    char *line;
    size_t length, size;
};

/* bytes: space for all keys except the JSON texts of the caller; JSON writes some bytes of a word
 * as six bytes (\u001f) */
enum { PLAIN = 2048 };

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
    const size_t room = text->size - text->length;
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(text->line + text->length, room, format, values);
    va_end(values);
    text->length += (size_t)length < room ? (size_t)length : room - 1;
}

static void add_number(struct text *text, const char *key, uint64_t number)
{
    if (number != 0)
        add(text, "\"%s\":%llu,", key, (unsigned long long)number);
}

/* Adds a key with a string, unless the string is empty. False with errno: the caller must not send
 * the request, because the key is missing. */
static bool add_word(struct text *text, const char *key, const char *value)
{
    if (value[0] == '\0')
        return true;
    json_t *string = json_string(value);
    char *quoted = json_dumps(string, JSON_ENCODE_ANY);
    if (quoted != NULL)
        add(text, "\"%s\":%s,", key, quoted);
    errno = string == NULL ? EILSEQ : ENOMEM;
    free(quoted);
    json_decref(string);
    return quoted != NULL;
}

static void add_numbers(struct text *text, const struct own_params *asked)
{
    add_number(text, "runtime", asked->runtime);
    add_number(text, "desired_runtime", asked->desired_runtime);
    add_number(text, "period", asked->period);
    add_number(text, "deadline", asked->deadline);
    add_number(text, "priority", asked->priority);
    add_number(text, "expires", asked->expires);
    add_number(text, "importance", asked->importance);
    add_number(text, "weight", asked->weight);
}

/* Adds the keys whose values the caller has set as JSON texts (rtf_params_set_modes and similar
 * calls have checked them). */
static void add_texts(struct text *text, const struct own_params *asked)
{
    for (int i = 0; i < OWN_TEXTS; i++) {
        const char *value = asked->texts[i];
        if (value != NULL && text_keys[i] != NULL)
            add(text, "\"%s\":%s,", text_keys[i], value);
        else if (value != NULL) /* OWN_REST: the members of an object */
            add(text, "%.*s,", (int)(strrchr(value, '}') - strchr(value, '{')) - 1,
                strchr(value, '{') + 1);
    }
}

/* Adds a key that names a thread, or a process by its first thread; see client_thread_key. */
static void add_thread(struct text *text, const char *key, pid_t thread)
{
    const uint64_t inode = client_thread_inode(thread);
    if (inode != 0)
        add(text, "\"%s\":{\"tid\":%d,\"inode\":%llu},", key, (int)thread,
            (unsigned long long)inode);
    else
        add(text, "\"%s\":%d,", key, (int)thread);
}

/* Adds the key "lifetime". For a program file, also adds the key "process", because the rules are
 * for the threads of this process. */
static void add_lifetime(struct text *text, const struct own_params *asked)
{
    const bool is_program = asked->texts[OWN_THREADS] != NULL;
    if (is_program)
        add_thread(text, "process", getpid());
    add(text, "\"lifetime\":\"%s\",", asked->lasting ? "spec" : is_program ? "process" : "thread");
}

static void add_flags(struct text *text, const struct own_params *asked)
{
    if (asked->ignore_admission)
        add(text, "\"ignore_admission\":true,");
    if (asked->waits)
        add(text, "\"on_refusal\":\"wait\",");
    if (asked->dry_run)
        add(text, "\"dry_run\":true,");
}

static bool begin(struct text *text, const struct own_params *asked)
{
    *text = (struct text){.size = PLAIN};
    for (int i = 0; i < OWN_TEXTS; i++)
        text->size += asked->texts[i] == NULL ? 0 : strlen(asked->texts[i]) + OWN_CODE;
    text->line = malloc(text->size);
    return text->line != NULL;
}

char *own_write(const struct own_params *asked, pid_t attach, const char *token)
{
    struct text text;
    if (!begin(&text, asked))
        return NULL;
    add(&text, "{");
    add_numbers(&text, asked);
    if (!add_word(&text, "plugin", asked->plugin) || !add_word(&text, "cpus", asked->cpus) ||
        !add_word(&text, "mode", asked->mode)) {
        free(text.line);
        return NULL;
    }
    add_texts(&text, asked);
    add_flags(&text, asked);
    if (attach > 0)
        add_thread(&text, "attach", attach);
    if (attach < 0)
        add(&text, "\"attach\":null,");
    add_lifetime(&text, asked);
    add(&text, "\"token\":\"%s\"}", token);
    return text.line;
}

/* ---- reading ---- */

/* Removes the member with this key from the object, and returns the member; NULL: there is no such
 * member. The caller drops the reference. */
static json_t *take(json_t *spec, const char *key)
{
    json_t *value = json_incref(json_object_get(spec, key));
    (void)json_object_del(spec, key);
    return value;
}

/* Reads a number, or a time with a unit such as "2ms". False: the value is neither. */
static bool read_number(json_t *spec, const char *key, uint64_t *number)
{
    json_t *value = take(spec, key);
    bool is_read = true;
    if (json_is_integer(value))
        *number = (uint64_t)json_integer_value(value);
    else if (value != NULL)
        is_read = json_is_string(value) && parse_time(json_string_value(value), number);
    json_decref(value);
    return is_read;
}

/* Reads a string into `word`, of `size` bytes. False: the value is not a string, or is too long for
 * `word`. */
static bool read_word(json_t *spec, const char *key, char *word, size_t size)
{
    json_t *value = take(spec, key);
    const char *text = json_string_value(value);
    const bool is_read = value == NULL || (text != NULL && strlen(text) < size);
    if (is_read && text != NULL)
        memcpy(word, text, strlen(text) + 1);
    json_decref(value);
    return is_read;
}

static bool read_numbers(json_t *spec, struct own_params *params)
{
    uint64_t priority = 0, importance = 0, weight = 0;
    const bool are_read = read_number(spec, "runtime", &params->runtime) &&
                          read_number(spec, "desired_runtime", &params->desired_runtime) &&
                          read_number(spec, "period", &params->period) &&
                          read_number(spec, "deadline", &params->deadline) &&
                          read_number(spec, "expires", &params->expires) &&
                          read_number(spec, "priority", &priority) &&
                          read_number(spec, "importance", &importance) &&
                          read_number(spec, "weight", &weight);
    params->priority = (unsigned)priority;
    params->importance = (unsigned)importance;
    params->weight = (unsigned)weight;
    return are_read;
}

static bool read_words(json_t *spec, struct own_params *params)
{
    char lifetime[OWN_CODE] = "", on_refusal[OWN_CODE] = "";
    const bool are_read = read_word(spec, "plugin", params->plugin, sizeof params->plugin) &&
                          read_word(spec, "cpus", params->cpus, sizeof params->cpus) &&
                          read_word(spec, "mode", params->mode, sizeof params->mode) &&
                          read_word(spec, "lifetime", lifetime, sizeof lifetime) &&
                          read_word(spec, "on_refusal", on_refusal, sizeof on_refusal);
    params->lasting = strcmp(lifetime, "thread") != 0 && strcmp(lifetime, "process") != 0;
    params->waits = strcmp(on_refusal, "wait") == 0;
    return are_read;
}

static bool read_flag(json_t *spec, const char *key)
{
    json_t *value = take(spec, key);
    const bool flag = json_is_true(value);
    json_decref(value);
    return flag;
}

/* Reads the keys whose values stay JSON texts. texts: receives the strings to which the parameters
 * point. */
static bool read_texts(json_t *spec, struct own_params *params, char *texts[static OWN_TEXTS])
{
    bool are_read = true;
    const bool has_process = json_object_get(spec, "process") != NULL;
    json_decref(take(spec, "process"));
    for (int i = 0; i < OWN_TEXTS; i++) {
        /* if a program file names a program by its path, and no process, its rules are in
         * OWN_REST */
        if (i == OWN_THREADS && !has_process)
            continue;
        json_t *value = text_keys[i] == NULL ? json_incref(spec) : take(spec, text_keys[i]);
        const bool is_stated = value != NULL && (value != spec || json_object_size(spec) > 0);
        free(texts[i]);
        texts[i] = is_stated ? json_dumps(value, JSON_COMPACT) : NULL;
        params->texts[i] = texts[i];
        are_read = are_read && (!is_stated || texts[i] != NULL);
        json_decref(value);
    }
    return are_read;
}

bool own_parse(const char *text, struct own_params *params, char *texts[static OWN_TEXTS])
{
    json_t *spec = client_parse_object(text);
    if (spec == NULL)
        return false;
    /* drops the key "attach", because the attached thread is no parameter */
    json_decref(take(spec, "attach"));
    json_decref(take(spec, "token"));
    params->ignore_admission = read_flag(spec, "ignore_admission");
    params->dry_run = read_flag(spec, "dry_run");
    const bool is_read =
        read_numbers(spec, params) && read_words(spec, params) && read_texts(spec, params, texts);
    json_decref(spec);
    return is_read;
}
