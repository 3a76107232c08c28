/* libexec/attach/kernel-setting.c: changes a setting while a broker needs it, and restores the
 * former value afterwards. The files here stand for the kernel's files. */
#include "attach/kernel-setting.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

static char place[64], file[128], record[128], spool[2][128];

static void write_file(const char *path, const char *text)
{
    FILE *to = fopen(path, "we");
    assert_non_null(to);
    assert_true(fputs(text, to) >= 0);
    assert_int_equal(fclose(to), 0);
}

static void file_is(const char *path, const char *wanted)
{
    char text[256] = "";
    FILE *from = fopen(path, "re");
    assert_non_null(from);
    (void)!fread(text, 1, sizeof text - 1, from);
    (void)fclose(from);
    assert_memory_equal(text, wanted, strlen(wanted));
}

static struct kernel_setting features(void)
{
    struct kernel_setting setting = {.file = file,
                                     .record = record,
                                     .wanted = "HRTICK_DL",
                                     .feature = "HRTICK_DL"};
    setting_open(&setting);
    assert_true(setting.fd >= 0);
    return setting;
}

static int begin(void **state)
{
    (void)state;
    snprintf(place, sizeof place, "/tmp/rtf-unit.XXXXXX");
    assert_non_null(mkdtemp(place));
    snprintf(file, sizeof file, "%s/features", place);
    snprintf(record, sizeof record, "%s/record", place);
    for (int i = 0; i < 2; i++) {
        snprintf(spool[i], sizeof spool[i], "%s/spool%d", place, i);
        assert_int_equal(mkdir(spool[i], 0700), 0);
    }
    write_file(file, "PLACE_LAG NO_HRTICK NO_HRTICK_DL TTWU_QUEUE\n");
    return 0;
}

static int end(void **state)
{
    (void)state;
    (void)unlink(file);
    (void)unlink(record);
    for (int i = 0; i < 2; i++)
        (void)rmdir(spool[i]);
    return rmdir(place);
}

/* The kernel's file takes the word of one feature, and shows the words of all features. The plain
 * file here has the written word at its beginning, and then the rest of its former content. */
static void a_feature_is_on_while_a_broker_needs_it(void **state)
{
    char reason[SETTING_REASON] = "";
    struct kernel_setting setting = features();
    (void)state;
    assert_true(setting_take(&setting, spool[0], reason));
    file_is(file, "HRTICK_DL");
    write_file(file, "PLACE_LAG NO_HRTICK HRTICK_DL TTWU_QUEUE\n");
    assert_true(setting_take(&setting, spool[1], reason));
    file_is(file, "PLACE_LAG"); /* the feature is already on */
    assert_true(setting_restore(&setting, spool[0], reason));
    file_is(file, "PLACE_LAG");
    assert_true(setting_restore(&setting, spool[1], reason));
    file_is(file, "NO_HRTICK_DL");
    assert_int_not_equal(access(record, F_OK), 0);
    close(setting.fd);
}

/* The record still has a broker that was killed. The next start without hrtick=on, or --put-back,
 * restores the setting for the spool. A broker whose spool is gone does not count. */
static void what_a_killed_broker_left_is_put_back(void **state)
{
    char reason[SETTING_REASON] = "";
    struct kernel_setting setting = features();
    (void)state;
    assert_true(setting_take(&setting, spool[0], reason));
    assert_true(setting_take(&setting, spool[1], reason));
    close(setting.fd);
    assert_int_equal(rmdir(spool[1]), 0);
    setting = features();
    assert_true(setting_restore(&setting, spool[0], reason));
    file_is(file, "NO_HRTICK_DL");
    close(setting.fd);
    assert_int_equal(mkdir(spool[1], 0700), 0);
}

/* An administrator had the feature on before, so it stays on. */
static void what_was_on_stays_on(void **state)
{
    char reason[SETTING_REASON] = "";
    (void)state;
    write_file(file, "HRTICK_DL PLACE_LAG\n");
    struct kernel_setting setting = features();
    assert_true(setting_take(&setting, spool[0], reason));
    assert_true(setting_restore(&setting, spool[0], reason));
    file_is(file, "HRTICK_DL PLACE_LAG");
    close(setting.fd);
}

static void a_closed_file_and_a_kernel_without_the_feature_are_refused(void **state)
{
    char reason[SETTING_REASON] = "";
    (void)state;
    write_file(file, "PLACE_LAG MY_HRTICK_DL\n");
    struct kernel_setting setting = features();
    assert_false(setting_take(&setting, spool[0], reason));
    assert_non_null(strstr(reason, "features has no HRTICK_DL"));
    close(setting.fd);
    setting.file = "/proc/self/no-such-file";
    setting_open(&setting);
    assert_false(setting_take(&setting, spool[0], reason));
    assert_string_equal(reason,
                        "/proc/self/no-such-file cannot be opened: No such file or directory");
    assert_int_not_equal(access(record, F_OK), 0);
    assert_true(setting_restore(&setting, spool[0], reason));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_feature_is_on_while_a_broker_needs_it, begin, end),
        cmocka_unit_test_setup_teardown(what_a_killed_broker_left_is_put_back, begin, end),
        cmocka_unit_test_setup_teardown(what_was_on_stays_on, begin, end),
        cmocka_unit_test_setup_teardown(a_closed_file_and_a_kernel_without_the_feature_are_refused,
                                        begin, end),
    };
    return cmocka_run_group_tests_name("kernel setting", tests, NULL, NULL);
}
