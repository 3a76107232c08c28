#include "whole-process.h"

bool is_first_thread(const struct row *row)
{
    return row->is_first && !row->is_spare;
}

void whole_process_add(const struct spec *whole, struct spec *spec)
{
    spec->extras.lock_memory = whole->extras.lock_memory;
    spec->extras.cpu_latency = whole->extras.cpu_latency;
    claims_copy(&spec->claims, whole->claims);
}
