/* A reader opens a file of this name in its user's directory, and nothing that stands for another
 * file. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/files.h"

static char directory[] = "/tmp/rtf-unit.XXXXXX";

static int enter(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL || chdir(directory) < 0 || mkdir("sub", 0700) < 0 ||
        symlink("sub", "link-to-sub") < 0)
        return -1;
    for (const char *const *file = (const char *const[]){"plain", "sub/plain", NULL}; *file != NULL;
         file++) {
        const int fd = open(*file, O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (fd < 0 || close(fd) < 0)
            return -1;
    }
    return symlink("plain", "link") | symlink("/dev/zero", "link-away");
}

static int leave(void **state)
{
    (void)state;
    for (const char *const *file =
             (const char *const[]){"plain", "sub/plain", "link", "link-away", "link-to-sub", NULL};
         *file != NULL; file++)
        (void)unlink(*file);
    return rmdir("sub") | chdir("/") | rmdir(directory);
}

static bool opens(const char *file)
{
    const int fd = open_plain(file, O_RDONLY);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void a_plain_file_is_opened(void **state)
{
    (void)state;
    assert_true(opens("plain"));
}

/* The user may replace the file by a link after the reader has looked at the file. */
static void no_symbolic_link_is_followed(void **state)
{
    (void)state;
    assert_false(opens("link"));
    assert_int_equal(errno, ELOOP);
    assert_false(opens("link-away"));
    assert_false(opens("link-to-sub/plain"));
}

static void nothing_outside_of_the_directory_is_opened(void **state)
{
    char above[64];
    (void)state;
    snprintf(above, sizeof above, "../%.40s/plain", directory + sizeof "/tmp/" - 1);
    assert_false(opens(above));
    assert_int_equal(errno, EXDEV);
    assert_false(opens("/dev/null"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_file_is_opened),
        cmocka_unit_test(no_symbolic_link_is_followed),
        cmocka_unit_test(nothing_outside_of_the_directory_is_opened),
    };
    return cmocka_run_group_tests_name("reader-files", tests, enter, leave);
}
