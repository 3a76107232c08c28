#include "next-time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "command-line.h"
#include "learn-report.h"
#include "request/grant-text.h"

/* LITTLE: with less CPU time than this in a second, a program takes long to load. */
enum { LITTLE = 20000 /* us */, GROUPS = 8 };

/* ---- words for a shell ---- */

static bool is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./:=@%+,-";
    return word[0] != '\0' && word[strspn(word, plain)] == '\0';
}

static bool is_printable(const char *word)
{
    while (*word >= ' ' && *word <= '~')
        word++;
    return *word == '\0';
}

/* Prints each byte in octal. So the terminal does not obey the bytes, and the shell restores them
 * when the user pastes the line. */
static void print_octal(const char *word)
{
    (void)fputs("\"$(printf '", stderr);
    for (; *word != '\0'; word++)
        (void)fprintf(stderr, "\\%03o", (unsigned)(unsigned char)*word);
    (void)fputs("')\"", stderr);
}

static void print_quoted(const char *word)
{
    (void)fputc('\'', stderr);
    for (; *word != '\0'; word++)
        if (*word == '\'')
            (void)fputs("'\\''", stderr);
        else
            (void)fputc(*word, stderr);
    (void)fputc('\'', stderr);
}

static void print_word(const char *word)
{
    if (is_plain(word))
        (void)fputs(word, stderr);
    else if (is_printable(word))
        print_quoted(word);
    else
        print_octal(word);
}

/* Prints "rtf-run --spool DIR". */
static void print_program(void)
{
    (void)fputs("rtf-run ", stderr);
    if (!command_states_spool())
        return;
    (void)fputs("--spool ", stderr);
    print_word(command_spool());
    (void)fputc(' ', stderr);
}

static void print_command(char *const command[])
{
    (void)fputs("--", stderr);
    for (; *command != NULL; command++) {
        (void)fputc(' ', stderr);
        print_word(*command);
    }
    (void)fputc('\n', stderr);
}

/* ---- threads with a period ---- */

static void print_time(const char *option, uint64_t us)
{
    char text[TIME_TEXT];
    json_t *time = json_integer((json_int_t)us);
    (void)fprintf(stderr, "%s %s ", option, time_text(time, text));
    json_decref(time);
}

/* Prints a line such as "rtf-run -T 2200us -P 20ms -- ./camera". */
static void say_options(const struct learned_reservation *reservation, char *const command[])
{
    command_say("next time, this reserves the same without learning:");
    print_program();
    print_time("-T", reservation->runtime);
    print_time("-P", reservation->period);
    if ((unsigned __int128)reservation->runtime * 1000000 / reservation->period < LITTLE)
        (void)fputs("--attach=1s ", stderr);
    print_command(command);
}

/* Prints the name of the file that gets the rules. */
static void print_file(const char *program)
{
    char file[256];
    const char *slash = strrchr(program, '/');
    snprintf(file, sizeof file, "%s.threads", slash == NULL ? program : slash + 1);
    print_word(file);
}

static json_t *make_rules(const struct followed *followed)
{
    json_t *rules = json_array();
    for (size_t i = 0; i < followed->count; i++)
        if (followed->threads[i].reservation.period != 0)
            learned_add_rule(rules, followed->threads[i].name, &followed->threads[i].reservation);
    return json_pack("{s:o}", "threads", rules);
}

/* Prints a line such as:
 * printf '%s\n' '{"threads": [...]}' >player.threads && rtf-run -f player.threads -- ./player */
static void say_rules(const struct followed *followed, char *const command[])
{
    json_t *file = make_rules(followed);
    char *text = json_dumps(file, 0);
    command_say("next time, these rules for threads reserve the same without learning:");
    (void)fputs("printf '%s\\n' ", stderr);
    print_word(text == NULL ? "{}" : text);
    (void)fputs(" >", stderr);
    print_file(command[0]);
    (void)fputs(" && ", stderr);
    print_program();
    (void)fputs("-f ", stderr);
    print_file(command[0]);
    (void)fputc(' ', stderr);
    print_command(command);
    free(text);
    json_decref(file);
}

/* ---- threads without a period ---- */

static bool is_alike(const struct followed_thread *a, const struct followed_thread *b)
{
    return b->reservation.period == 0 && a->behaviour == b->behaviour &&
           strcmp(a->name, b->name) == 0;
}

/* Says a sentence about all threads with the name and the behaviour of thread number `first`. */
static bool say_group(const struct followed *followed, size_t first)
{
    size_t alike = 0;
    char name[8 * LEARNED_NAME];
    const struct followed_thread *thread = &followed->threads[first];
    for (size_t i = 0; i < followed->count; i++) {
        const bool same = is_alike(thread, &followed->threads[i]);
        if (same && i < first)
            return false;
        alike += same;
    }
    client_printable(thread->name, name, sizeof name);
    if (alike == 1)
        command_say("thread %s gets no reservation (%s)", name,
                    learn_report_word(thread->behaviour));
    else
        command_say("%zu threads %s get no reservation (%s)", alike, name,
                    learn_report_word(thread->behaviour));
    return true;
}

/* Says which threads have no period. Most programs have threads that sleep. These threads are named
 * only with `with_sleeping`, if no thread has a period. */
static void say_others(const struct followed *followed, bool with_sleeping)
{
    size_t said = 0;
    for (size_t i = 0; i < followed->count && said < GROUPS; i++) {
        const struct followed_thread *thread = &followed->threads[i];
        if (thread->reservation.period == 0 && thread->behaviour != BEHAVIOUR_PERIODIC &&
            (with_sleeping || thread->behaviour != BEHAVIOUR_SLEEPING))
            said += say_group(followed, i);
    }
}

void next_time_say(const struct followed *followed, char *const command[])
{
    const struct followed_thread *only = NULL;
    size_t periodic = 0;
    for (size_t i = 0; i < followed->count; i++)
        if (followed->threads[i].reservation.period != 0) {
            only = &followed->threads[i];
            periodic++;
        }
    say_others(followed, periodic == 0);
    if (periodic == 0)
        command_say("no thread has a period, so there is nothing to reserve");
    else if (periodic == 1 && only->tid == followed->process)
        say_options(&only->reservation, command);
    else
        say_rules(followed, command);
}
