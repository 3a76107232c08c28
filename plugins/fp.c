/* fp - fixed priorities on SCHED_FIFO (paper 000, section 5.3) */
#include "fixed_priority.h"

int main(int argc, char **argv)
{
    return fixed_priority_main(argc, argv, "fifo");
}
