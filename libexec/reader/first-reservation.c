#include "first-reservation.h"

#include "program-rows.h"
#include "program-states.h"

/* Ends all reservations after a refusal. The verdict is written only when nothing is reserved any
 * more. */
static void take_back(struct program *program)
{
    size_t i;
    json_t *row;
    program->refused = rows_json(program);
    json_array_foreach(program->refused, i, row)
    {
        (void)json_object_set_new(row, "grant", json_null());
        (void)json_object_set_new(row, "thread", json_null());
    }
    program_unwatch(program);
    program->state = REFUSING;
    rows_leave(program);
}

/* Goes to the next state if the broker's answers allow it. If the broker refuses one thread, all
 * threads are refused. Then the answers for threads that wait for used runtime are not needed. */
void program_advance(struct program *program)
{
    if (program->state == HOLDING && rows_have_refused(program) && rows_only_wait(program))
        take_back(program);
    if (!rows_are_answered(program))
        return;
    if ((program->state == HOLDING || program->state == ATTACHING) && rows_have_refused(program))
        take_back(program);
    else if (program->state == HOLDING)
        program_go_to(program, ATTACHING);
    else if (program->state == ATTACHING)
        program_go_to(program, STANDING);
    if (program->state == REFUSING && program->rows == NULL)
        program->state = REFUSED;
}
