/* A program file of the user, with its threads. The files behind programs.h share these types. */
#ifndef RTF_READER_PROGRAM_H
#define RTF_READER_PROGRAM_H

#include <jansson.h>
#include <uthash.h>

#include "files.h"
#include "program-file.h"

/* The form in which the broker is told a thread. ABSENT: no file; HOLD: a spec without "attach";
 * ATTACH: a spec with "attach". UNANSWERED: the broker has not answered since the file was
 * rewritten. */
enum form { FORM_ABSENT, FORM_HOLD, FORM_ATTACH, FORM_UNANSWERED };

/* A thread, and its reservation NAME+SLOT. The slot is the thread's id, except where the file says
 * "hold": there a thread takes over the reservation of an ended thread of its rule.
 *
 * is_spare: the thread has ended, and the reservation is held.
 *
 * is_leaving: the broker is told once that the row is absent; then the row is removed, or begins
 * anew if `comes_back`. */
struct row {
    pid_t slot, tid;
    char comm[THREAD_NAME_BYTES];
    int rule;      /* -1: none; the rule may be to leave the thread alone */
    bool is_first; /* the thread is the first of its process */
    enum form told, answered;
    bool is_listed, is_leaving, comes_back, is_spare;
    bool is_ended; /* the broker has ended the reservation */
    bool is_dirty; /* the broker has yet to be told what has changed */
    json_t *verdict;
    UT_hash_handle hh; /* by slot */
    char name[RESERVATION_NAME_BYTES];
};

enum state { LISTING, HOLDING, ATTACHING, STANDING, AWAY, OVER, REFUSING, REFUSED };

struct program {
    enum state state;
    struct program_file *file;
    struct file json;
    /* NAME.json is wrong now, or NAME.tid stands beside it; `file` is the version before, and
     * `result` says what is wrong */
    bool is_wrong;
    struct stamp tid; /* of that NAME.tid; inode 0: none */
    int fd;           /* the open NAME.json of `file` */
    pid_t process;
    bool stood;       /* the reservation for all threads together (programs.h) was made earlier */
    bool is_change;   /* the file was rewritten */
    bool has_news;    /* NAME.verdict is to be written */
    bool has_dirty;   /* some row is dirty */
    int64_t write_at; /* while has_news: when to write NAME.verdict */
    int64_t rests_until; /* NAME.verdict is not written before this time */
    struct row *rows;
    /* what NAME.verdict says instead of the rows; NULL: the rows decide */
    const char *result, *code;
    json_t *refused; /* the rows at the time of the refusal; NULL: not refused */
    char reason[REASON_BYTES];
    UT_hash_handle hh;
    char name[NAME_BYTES];
};

#endif
