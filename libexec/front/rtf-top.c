/* rtf-top(1): shows reservations and the CPU time that their threads use, once a second. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include <curses.h>

#include "client.h"
#include "command-line.h"
#include "top-rows.h"
#include "top-screen.h"

enum { STATUS_MAX = 1 << 22 };

static struct {
    bool all, own;
} options;

static struct view view;
static struct client client;
static json_t *status;
static char detach_program[PATH_MAX], act_program[PATH_MAX], place[PATH_MAX];
static volatile sig_atomic_t ended;

/* ---- the broker's state ---- */

static void read_status(void)
{
    struct stat file;
    json_t *fresh = NULL;
    int fd = openat(client.root, "status.json", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &file) == 0 && file.st_size <= STATUS_MAX)
        fresh = json_loadfd(fd, 0, NULL);
    close(fd);
    if (fresh == NULL)
        return;
    json_decref(status);
    status = fresh;
    rows_take_plugins(json_object_get(status, "plugins"));
}

static bool is_served(void)
{
    int fd = openat(client.root, "alive", O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* ---- detaching a thread ---- */

/* Becomes rtf detach. If another user owns the reservation, rtf-as-user runs rtf detach as the
 * owner. `said` becomes standard output and standard error. */
static void run_detach(const struct row *row, int said)
{
    char uid[16], user[sizeof "USER=" + NAME_MAX];
    const char *words[] = {act_program, "--spool",      place,     "--timeout",
                           "3s",        "--",           uid,       "env",
                           user,        detach_program, "--spool", place,
                           "--timeout", "3s",           row->name, NULL};
    const char **first = row->owner->uid == geteuid() ? words + 9 : words;
    int null = open("/dev/null", O_RDWR);
    snprintf(uid, sizeof uid, "%u", row->owner->uid);
    snprintf(user, sizeof user, "USER=%s", row->owner->name);
    (void)setsid();
    if (null < 0 || dup2(null, 0) < 0 || dup2(said, 1) < 0 || dup2(said, 2) < 0 ||
        setenv("USER", row->owner->name, 1) != 0)
        _exit(EX_OSERR);
    execv(first[0], (char **)first);
    fprintf(stderr, "%s: %s\n", first[0], strerror(errno));
    _exit(EX_OSERR);
}

static void detach(const struct row *row)
{
    int ends[2], code = 0;
    char said[sizeof view.message] = "";
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    pid_t child = fork();
    if (child == 0)
        run_detach(row, ends[1]);
    close(ends[1]);
    ssize_t length = child < 0 ? -1 : read(ends[0], said, sizeof said - 1);
    close(ends[0]);
    if (child > 0)
        (void)waitpid(child, &code, 0);
    said[length > 0 ? length : 0] = '\0';
    said[strcspn(said, "\n")] = '\0';
    if (child > 0 && code == 0)
        snprintf(view.message, sizeof view.message, "%s/%s: detached", row->owner->name, row->name);
    else
        snprintf(view.message, sizeof view.message, "%s",
                 said[0] == '\0' ? "the thread could not be detached" : said);
}

/* ---- keys ---- */

enum mode { MODE_TABLE, MODE_CONFIRM };
static enum mode mode;

static void ask_to_detach(void)
{
    if (view.row == NULL || view.row->tid == 0) {
        snprintf(view.message, sizeof view.message, "This reservation has no thread.");
        return;
    }
    if (view.row->owner->uid == (uid_t)-1) {
        snprintf(view.message, sizeof view.message,
                 "The owner of this reservation has no account any more.");
        return;
    }
    if (view.row->owner->uid != geteuid() && geteuid() != 0) {
        snprintf(view.message, sizeof view.message, "This reservation belongs to another user.");
        return;
    }
    snprintf(view.message, sizeof view.message, "Detach thread %d? (y/n) %.32s/%.64s",
             (int)view.row->tid, view.row->owner->name, view.row->name);
    mode = MODE_CONFIRM;
}

static void take_answer(int key)
{
    mode = MODE_TABLE;
    view.message[0] = '\0';
    if ((key == 'y' || key == 'Y') && view.row != NULL && view.row->tid != 0)
        detach(view.row);
}

static void move_selection(long by)
{
    const long to = (long)view.selected + by;
    view.selected = to < 0 ? 0 : (size_t)to;
    view.row = NULL;
}

static void sort_by(enum row_order order)
{
    view.reverse = view.order == order && !view.reverse;
    view.order = order;
    view.selected = 0;
    view.row = NULL;
}

static bool take_sorting(int key)
{
    static const char keys[ROW_ORDERS + 1] = "NUPS%GWOT";
    static const enum row_order by[ROW_ORDERS] = {BY_NAME, BY_USER, BY_PLUGIN, BY_SHARE, BY_RATIO,
                                                  BY_USE,  BY_WAIT, BY_OVER,   BY_TID};
    const char *at = key > 0 && key < 128 ? strchr(keys, key) : NULL;
    if (at == NULL)
        return false;
    sort_by(by[at - keys]);
    return true;
}

/* Does what the key stands for. False: the key ends the program. */
static bool take_key(int key)
{
    if (mode == MODE_CONFIRM) {
        take_answer(key);
        return true;
    }
    view.message[0] = '\0';
    switch (key) {
    case 'q':
    case 'Q':
    case 3: return false;
    case 'd': ask_to_detach(); break;
    case 'a': view.attached = !view.attached; break;
    case 'r': view.reverse = !view.reverse; break;
    case '>': sort_by((view.order + 1) % ROW_ORDERS); break;
    case '<': sort_by((view.order + ROW_ORDERS - 1) % ROW_ORDERS); break;
    case KEY_UP:
    case 'k': move_selection(-1); break;
    case KEY_DOWN:
    case 'j': move_selection(1); break;
    case KEY_PPAGE: move_selection(-(long)view.page); break;
    case KEY_NPAGE:
    case ' ': move_selection((long)view.page); break;
    case KEY_HOME:
    case 'g': move_selection(-(1L << 30)); break;
    case KEY_END:
    case 'G': move_selection(1L << 30); break;
    default: (void)take_sorting(key); break;
    }
    return true;
}

static bool take_keys(void)
{
    int key;
    while ((key = getch()) != ERR)
        if (!take_key(key))
            return false;
    return true;
}

/* ---- the loop ---- */

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int start_ticking(void)
{
    const struct itimerspec each_second = {.it_interval = {.tv_sec = 1}, .it_value = {.tv_sec = 1}};
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (timer < 0 || timerfd_settime(timer, 0, &each_second, NULL) != 0)
        command_fail(EX_OSERR, "%s", strerror(errno));
    return timer;
}

static void end(int number)
{
    (void)number;
    ended = 1;
}

/* Files that have changed are read once a second, and not at each change: a user who changes files
 * all the time must not keep this process busy. */
static void tick(void)
{
    if (rows_take_events())
        read_status();
    rows_refresh(now());
}

static void run(void)
{
    uint64_t ticks;
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = start_ticking(), .events = POLLIN}};
    bool goes_on = true;
    rows_refresh(now());
    while (goes_on && !ended) {
        screen_draw(&view, command_spool(), status, is_served());
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            break;
        if ((fds[0].revents & (POLLHUP | POLLERR)) != 0)
            break;
        goes_on = take_keys();
        if (read(fds[1].fd, &ticks, sizeof ticks) == (ssize_t)sizeof ticks)
            tick();
    }
}

/* ---- the command line ---- */

static const struct command_option option_table[] = {
    {0, "all", NULL, "Show the reservations of all users (root only; root's default)"},
    {0, "own", NULL, "Only your own"},
    {0}};

static void take(void *context, const char *name, const char *value)
{
    (void)context;
    (void)value;
    if (strcmp(name, "all") == 0)
        options.all = true;
    else if (strcmp(name, "own") == 0)
        options.own = true;
}

static void find_programs(void)
{
    ssize_t length = readlink("/proc/self/exe", detach_program, sizeof detach_program - 32);
    char *slash = length < 0 ? NULL : memrchr(detach_program, '/', (size_t)length);
    if (slash == NULL || realpath(command_spool(), place) == NULL)
        return;
    snprintf(act_program, sizeof act_program, "%.*s/../rtf-as-user", (int)(slash - detach_program),
             detach_program);
    memcpy(slash, "/rtf-detach", sizeof "/rtf-detach");
}

static void check_terminal(void)
{
    const char *terminal = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || terminal == NULL ||
        strcmp(terminal, "dumb") == 0)
        command_wrong("this needs a terminal; 'rtf ls' prints a list, 'rtf ls --json' prints JSON");
}

int main(int argc, char **argv)
{
    static const struct command command = {
        .name = "top",
        .about = "Watch reservations: what is granted, and what is used of it.",
        .operands = "[OPTION...]",
        .options = option_table,
        .take = take};
    const struct sigaction on_end = {.sa_handler = end};
    const char *why = NULL;
    setlocale(LC_CTYPE, "");
    command_end_of_line(command_parse(&command, argc, argv, NULL));
    if (options.all && geteuid() != 0)
        command_fail(EX_NOPERM, "only root sees the reservations of all users");
    const enum client_outcome opened = client_open(&client, command_spool());
    if (opened != CLIENT_OK)
        command_fail(client_status_of_outcome(opened), "%s", client.why);
    check_terminal();
    find_programs();
    const int opened_rows = rows_open(&client, geteuid() == 0 && !options.own, &why);
    if (opened_rows != EX_OK)
        command_fail(opened_rows, "%s", why);
    sigaction(SIGTERM, &on_end, NULL);
    sigaction(SIGHUP, &on_end, NULL);
    sigaction(SIGINT, &on_end, NULL);
    read_status();
    screen_begin();
    run();
    screen_end();
    client_close(&client);
    return EX_OK;
}
