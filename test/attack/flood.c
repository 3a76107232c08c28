/* flood MODE DIRECTORY: repeats one attack in a user's directory of the spool, as fast as possible,
 * until killed. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const char good[] = "{\"priority\": 5, \"plugin\": \"RR\"}",
                  other[] = "{\"priority\": 6, \"plugin\": \"RR\"}", bad[] = "{bad";
static unsigned long round_number;

static void put(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
        return;
    (void)!write(fd, text, strlen(text));
    close(fd);
}

static const char *numbered(const char *format, unsigned long number)
{
    static char names[2][300];
    static int turn;
    turn = !turn;
    snprintf(names[turn], sizeof names[turn], format, number);
    return names[turn];
}

static void change_mode(void)
{
    (void)chmod("bad.json", 0600);
    (void)chmod("bad.json", 0640);
}

static void rewrite(void)
{
    put("w.json", round_number % 2 == 0 ? good : other);
}

static void dry_run(void)
{
    put("d.json",
        numbered(
            "{\"runtime\": \"1ms\", \"period\": \"%lums\", \"plugin\": \"EDF\", \"dry_run\": true}",
            10 + round_number % 50));
}

/* There is room for four of the specs at a time (max_utilization 0.4). Each time that a reservation
 * ends, the broker asks again for all that wait. */
static void waiters(void)
{
    (void)unlink(numbered("q%lu.json", round_number % 100));
    put(numbered("q%lu.json", (round_number + 50) % 100),
        "{\"runtime\": \"1ms\", \"period\": \"10ms\", \"plugin\": \"EDF\", \"on_refusal\": \"wait\"}");
}

static void modes_of_a_spec(void)
{
    put("m.json",
        numbered(
            "{\"runtime\": \"4ms\", \"period\": \"40ms\", \"plugin\": \"EDF\", \"modes\": {\"m0\": {}, \"m1\": {\"runtime\": \"2ms\"}}, \"mode\": \"m%lu\"}",
            round_number % 2));
}

static void desired(void)
{
    put(numbered("d%lu.json", round_number % 4),
        numbered(
            "{\"runtime\": \"1ms\", \"period\": \"40ms\", \"plugin\": \"EDF\", \"desired_runtime\": \"%lums\"}",
            1 + round_number % 16));
}

static void expires(void)
{
    put(numbered("e%lu.json", round_number % 100),
        "{\"priority\": 5, \"plugin\": \"RR\", \"expires\": \"1ms\"}");
}

static void rewrite_badly(void)
{
    put("w.json", bad);
}

static void create_and_remove(void)
{
    put("w.json", good);
    (void)unlink("w.json");
}

static void new_names(void)
{
    (void)rename(numbered("n%lu.json", round_number), numbered("n%lu.json", round_number + 1));
}

static void wrong_names(void)
{
    (void)rename(numbered("no name %lu", round_number), numbered("no name %lu", round_number + 1));
}

static void dot_files(void)
{
    put(".hidden", good);
    (void)unlink(".hidden");
}

static void many_files(void)
{
    put(numbered("m%lu.json", round_number % 100000), good);
}

static void huge_files(void)
{
    int fd = open("huge.json", O_WRONLY | O_CREAT, 0600);
    (void)!ftruncate(fd, 1L << 40);
    close(fd);
    (void)unlink("huge.json");
}

static void held_open(void)
{
    static int fds[500];
    int *fd = &fds[round_number % 500];
    if (*fd > 0)
        close(*fd);
    *fd = open(numbered("h%lu.json", round_number % 500), O_WRONLY | O_CREAT, 0600);
    (void)!write(*fd, good, 3);
}

static void leased(void)
{
    static int fd = -1;
    if (fd >= 0)
        close(fd);
    put("leased.json", good);
    fd = open("leased.json", O_RDWR);
    (void)fcntl(fd, F_SETLEASE, F_WRLCK);
    (void)chmod("leased.json", 0640);
}

static void many_links(void)
{
    put("l0.json", round_number % 2 == 0 ? good : bad);
    (void)link("l0.json", numbered("l%lu.json", 1 + round_number % 300));
    (void)unlink(numbered("l%lu.json", 1 + (round_number + 150) % 300));
}

/* A regular file and a link to somebody else's take turns under one name. */
static void swapped(void)
{
    put(".regular", good);
    (void)unlink(".link");
    (void)symlink("/etc/shadow", ".link");
    (void)rename(".regular", "swapped.json");
    (void)rename(".link", "swapped.json");
}

static void special_files(void)
{
    (void)mkfifo("special.json", 0600);
    (void)unlink("special.json");
    (void)mkdir("special.json", 0700);
    (void)rmdir("special.json");
    (void)symlink("special.json", "special.json");
    (void)unlink("special.json");
}

static void thread_ids(void)
{
    put("w.tid", numbered("%lu", 1 + round_number % 30000));
}

static void verdicts(void)
{
    put("w.json", round_number % 2 == 0 ? good : other);
    (void)unlink("w.verdict");
    (void)mkdir("w.verdict", 0700);
    put("w.verdict/full", good);
    (void)unlink("w.verdict/full");
    (void)rmdir("w.verdict");
}

static void directory_away(void)
{
    (void)rename("../20017", "../.away");
    (void)rename("../.away", "../20017");
}

static void directories(void)
{
    (void)mkdir(numbered("../d%lu", round_number % 5000), 0700);
    (void)rmdir(numbered("../d%lu", round_number % 5000));
}

static void dot_directories(void)
{
    (void)mkdir("../.hidden", 0700);
    (void)rmdir("../.hidden");
}

static void truncated(void)
{
    static int fd = -1;
    if (fd < 0)
        fd = open("t.json", O_RDWR | O_CREAT, 0600);
    (void)!pwrite(fd, good, sizeof good - 1, 0);
    (void)!ftruncate(fd, (off_t)(round_number % sizeof good));
    close(open("t.json", O_WRONLY));
}

static const struct {
    const char *name;
    void (*act)(void);
} modes[] = {
    {"change-mode", change_mode},
    {"rewrite", rewrite},
    {"rewrite-badly", rewrite_badly},
    {"create-and-remove", create_and_remove},
    {"new-names", new_names},
    {"wrong-names", wrong_names},
    {"dot-files", dot_files},
    {"many-files", many_files},
    {"huge-files", huge_files},
    {"held-open", held_open},
    {"leased", leased},
    {"many-links", many_links},
    {"swapped", swapped},
    {"special-files", special_files},
    {"thread-ids", thread_ids},
    {"verdicts", verdicts},
    {"directory-away", directory_away},
    {"directories", directories},
    {"dot-directories", dot_directories},
    {"truncated", truncated},
    {"dry-run", dry_run},
    {"waiters", waiters},
    {"modes", modes_of_a_spec},
    {"desired", desired},
    {"expires", expires},
};

int main(int count, char **words)
{
    if (count != 3)
        return 64;
    /* another flood may have moved the directory away */
    for (int tries = 0; chdir(words[2]) != 0; tries++)
        if (errno != ENOENT || tries == 1000000)
            return 64;
    /* the kernel sends SIGIO when another process opens a file of ours with a lease */
    (void)signal(SIGIO, SIG_IGN);
    put("bad.json", bad);
    put("w.json", good);
    put(numbered("n%lu.json", 0), good);
    put(numbered("no name %lu", 0), good);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        for (; strcmp(modes[i].name, words[1]) == 0; round_number++)
            modes[i].act();
    return 64;
}
