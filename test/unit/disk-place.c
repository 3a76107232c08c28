/* Which disk a device is on (disk-place.h). The test gives lists of devices as kernels show them:
 * partitions, and devices that are mapped onto others. */
#include "unit.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk-place.h"

enum { PATH = 512 };
static char sys[PATH];
static char disk[DISK_NAME_BYTES], reason[DISK_PLACE_REASON];

static void make(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void make(const char *format, ...)
{
    char path[PATH];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    for (char *slash = strchr(path + strlen(sys) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    assert_int_equal(mkdir(path, 0700), 0);
}

/* Makes a device, its directory below devices/, and the links to the directory. */
static void device(const char *number, const char *place)
{
    char link[2 * PATH], target[PATH];
    const char *slash = strrchr(place, '/');
    make("%s/devices/%s", sys, place);
    snprintf(target, sizeof target, "../../devices/%s", place);
    snprintf(link, sizeof link, "%s/dev/block/%s", sys, number);
    assert_int_equal(symlink(target, link), 0);
    snprintf(link, sizeof link, "%s/class/block/%s", sys, slash + 1);
    assert_int_equal(symlink(target, link), 0);
}

static void lies_on(const char *link, const char *expected)
{
    check(disk_place_of(sys, link, disk, reason) == DISK_PLACE_FOUND && strcmp(disk, expected) == 0,
          "%s: \"%s\", %s", link, disk, reason);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(sys, "/tmp/rtf-unit.XXXXXX");
    assert_non_null(mkdtemp(sys));
    make("%s/dev/block", sys);
    make("%s/class/block", sys);
    device("8:0", "pci0000:00/ata1/block/sda");
    device("8:1", "pci0000:00/ata1/block/sda/sda1");
    make("%s/devices/pci0000:00/ata1/block/sda/sda1/partition", sys);
    device("259:1", "virtual/nvme-subsystem/nvme-subsys0/nvme0n1/nvme0n1p2");
    make("%s/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1/nvme0n1p2/partition", sys);
    device("259:0", "virtual/nvme-subsystem/nvme-subsys0/block/nvme0n1");
    device("104:0", "pci0000:00/cciss0/block/cciss!c0d0");
    device("253:0", "virtual/block/dm-0");
    make("%s/devices/virtual/block/dm-0/dm", sys);
    make("%s/devices/virtual/block/dm-0/slaves/sda1", sys);
    device("9:0", "virtual/block/md0");
    make("%s/devices/virtual/block/md0/md", sys);
    device("259:5", "virtual/block/md0/md0p1");
    make("%s/devices/virtual/block/md0/md0p1/partition", sys);
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(sys, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void a_partition_is_on_its_disk(void **state)
{
    (void)state;
    lies_on("dev/block/8:0", "sda");
    lies_on("dev/block/8:1", "sda");
    lies_on("class/block/sda1", "sda");
    lies_on("class/block/sda", "sda");
    lies_on("dev/block/259:1", "nvme0n1");
    lies_on("dev/block/259:0", "nvme0n1");
}

static void what_is_mapped_onto_others_is_told_with_them(void **state)
{
    (void)state;
    assert_int_equal(disk_place_of(sys, "dev/block/253:0", disk, reason), DISK_PLACE_STACKED);
    assert_string_equal(disk, "dm-0");
    assert_string_equal(
        reason,
        "this is on dm-0, which passes its data on to other disks, such as sda1: name one of them, or give dm-0 a line in plugins.conf");
    assert_int_equal(disk_place_of(sys, "class/block/md0p1", disk, reason), DISK_PLACE_STACKED);
    assert_string_equal(disk, "md0");
    assert_string_equal(
        reason,
        "this is on md0, which passes its data on to other disks: name one of them, or give md0 a line in plugins.conf");
}

static void what_no_claim_can_name_is_none(void **state)
{
    (void)state;
    assert_int_equal(disk_place_of(sys, "dev/block/8:16", disk, reason), DISK_PLACE_NONE);
    assert_non_null(strstr(reason, "lists no such device"));
    assert_int_equal(disk_place_of(sys, "dev/block/104:0", disk, reason), DISK_PLACE_NONE);
    assert_string_equal(reason, "the name of its disk is not valid in a claim");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_partition_is_on_its_disk),
        cmocka_unit_test(what_is_mapped_onto_others_is_told_with_them),
        cmocka_unit_test(what_no_claim_can_name_is_none),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
