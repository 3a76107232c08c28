/* disk - admission of claims to the time of a disk. The share of a claim is its bytes, divided by
 * the disk's throughput (in blocks of the claim's size, at random places) and by the claim's
 * period. The sum of all shares stays within a threshold (equation 1 of the paper on FRSH/FORB,
 * section 4.2).
 *
 * throughput= is the measurement of rtf-probe. threshold= is the share of the disk's time that all
 * claims together may have (default: 0.8, disk.h). */
#include <inttypes.h>

#include "amounts.h"
#include "disk.h"
#include "plugin.h"

static struct {
    struct disk_rates rates;
    uint64_t capacity; /* billionths of the disk's time */
} disk;

static const char *take_throughput(const char *value)
{
    return parse_disk_rates(value, &disk.rates)
               ? NULL
               : "must be bytes per second by block size, in ascending order, such as 4KiB:900kB,32KiB:5400kB";
}

/* Checks the name of the device. Only the broker compares this name with claims. */
static const char *take_device(const char *value)
{
    return value[0] != '\0' ? NULL : "must be the name of a disk, such as sda";
}

static const struct word words[] = {{.key = "throughput", .take = take_throughput},
                                    {.key = "device", .take = take_device},
                                    {.key = "resource", .take = amounts_take_resource},
                                    {0}};

static const char *setup(struct config *config)
{
    if (disk.rates.count == 0)
        return "throughput= is missing: the disk's throughput, such as 4KiB:900kB,32KiB:5400kB";
    disk.capacity = config->threshold == THRESHOLD_UNSET ? DISK_THRESHOLD : config->threshold;
    config->tests = "sufficient";
    return disk.capacity > 0 ? NULL : "threshold=0 leaves nothing to grant";
}

static bool is_whole(const struct request *request)
{
    return request->bytes != 0 && request->period != 0 && request->block != 0;
}

static const char *disk_accept(const struct request *request, struct paragraph_output *out)
{
    char left_text[UTILIZATION_TEXT], all[UTILIZATION_TEXT], asked_text[UTILIZATION_TEXT];
    if (!is_whole(request))
        return "the claim lacks bytes=, period= or block=";
    const uint64_t left = amounts_left(disk.capacity, request->task),
                   asked = disk_share(&disk.rates, request->bytes, request->period, request->block);
    if (asked <= left) {
        paragraph_add(out, "answer", "ok");
        return NULL;
    }
    (asked > disk.capacity ? answer_never
                           : answer_no)(out, "the disk has %s of %s of its time left, %s asked",
                                        format_utilization(left, left_text),
                                        format_utilization(disk.capacity, all),
                                        format_utilization(asked, asked_text));
    answer_nearest(out, disk_bytes_within(&disk.rates, left, request->period, request->block));
    return NULL;
}

static const char *disk_schedule(const struct request *request, struct paragraph_output *out)
{
    (void)out;
    if (!is_whole(request))
        return "the claim lacks bytes=, period= or block=";
    amounts_set(request->task,
                disk_share(&disk.rates, request->bytes, request->period, request->block));
    return NULL;
}

int main(int argc, char **argv)
{
    static const struct plugin plugin = {.words = words,
                                         .setup = setup,
                                         .accept = disk_accept,
                                         .schedule = disk_schedule,
                                         .release = amounts_release,
                                         .load = amounts_load,
                                         .without_cpus = true};
    return plugin_main(argc, argv, &plugin);
}
