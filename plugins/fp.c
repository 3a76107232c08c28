/* fp - fixed priorities on SCHED_FIFO (section 5.3 of the ReTiF paper) */
#include "fixed_priority.h"

int main(int argc, char **argv)
{
    return fixed_priority_main(argc, argv, "fifo");
}
