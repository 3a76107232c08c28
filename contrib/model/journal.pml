/* Two reservations with a thread each, and who writes what before whom: the broker, the journal, the attach helper, the threads and the readers. Each of
 * broker, helper and reader may be killed at any point, CRASHES times in all. Checked by `contrib/model/run`.
 *
 * What is promised:
 *   recorded   a real-time thread has a record in the journal that would be read if the broker died now
 *   former     that record has the attributes that the thread had before; a thread that is let go has them again
 *   capacity   what is used is what is granted, no more than there is, and what the journal has; in the end nothing else is used
 *
 * Each transition has the function that it stands for. FAULT=n makes one of the orders wrong (see `run`): the check must find it. */
#ifndef FAULT
#define FAULT 0
#endif
#ifndef CRASHES
#define CRASHES 2
#endif
#ifndef CAPACITY
#define CAPACITY 2
#endif

mtype = {NOTHING, GRANTED, ATTACHED};         /* records */
mtype = {ORDINARY, NICE, REAL_TIME};          /* attributes of a thread */
mtype = {APPLY, RESTORE, DONE, REFUSED, GONE, DIED}; /* what the helper is told, and answers */

/* ---- what a crash leaves: files, the journal, the kernel ---- */

typedef journal {
    mtype record[2];
    mtype former[2];
};
journal file[2];
bit named; /* the index of the file that has the name journal */

bool spec[2];       /* NAME.json is there */
bool alive[2];      /* the thread has not ended */
mtype attributes[2];
mtype original[2];  /* the thread had these before rtf */

/* libexec/broker/reservations/journal.c journal_read */
#define RECORD(r) file[named].record[r]
#define FORMER(r) file[named].former[r]

inline agrees()
{
    assert(attributes[0] != REAL_TIME || (RECORD(0) == ATTACHED && FORMER(0) == original[0])); /* recorded, former */
    assert(attributes[1] != REAL_TIME || (RECORD(1) == ATTACHED && FORMER(1) == original[1]));
    assert((attributes[0] == REAL_TIME) + (attributes[1] == REAL_TIME) <= CAPACITY) /* capacity */
}

/* ---- what a crash of the broker takes away ---- */

bool granted[2], attached[2];
mtype former[2];
byte used;
bit writing; /* the file that records are written to */
bool serving;

chan order = [1] of {mtype, byte, mtype}; /* to the helper */
chan answer = [1] of {mtype};
chan found = [2] of {bool, byte}; /* from the readers */
byte told[2];    /* what a reader has reported last; 2: nothing yet */
bool helper_works;
bool kill_broker, kill_helper;
byte crashes;
bool tidied; /* the journal was written anew, which happens once */

/* A record is written in one call, or it is not whole and does not count. */
/* libexec/broker/reservations/journal.c journal_reservation */
inline write(r, kind, before)
{
#if FAULT == 8
    atomic { file[writing].record[r] = kind; file[writing].former[r] = REAL_TIME; }
#endif
    atomic { file[writing].record[r] = kind; file[writing].former[r] = before; agrees(); }
}

/* libexec/broker/recovery/journal-rewrite.c journal_rewrite; journal_begin and journal_commit of libexec/broker/reservations/journal.c */
inline write_anew()
{
    atomic {
        writing = 1 - named;
        file[writing].record[0] = NOTHING;
        file[writing].record[1] = NOTHING;
        file[writing].former[0] = 0;
        file[writing].former[1] = 0;
#if FAULT == 6
        named = writing;
#endif
        agrees()
    }
    atomic { file[writing].record[0] = (granted[0] -> (attached[0] -> ATTACHED : GRANTED) : NOTHING); file[writing].former[0] = former[0] }
    atomic { file[writing].record[1] = (granted[1] -> (attached[1] -> ATTACHED : GRANTED) : NOTHING); file[writing].former[1] = former[1] }
    atomic {
        named = writing; /* the rename, which takes the name from the former journal */
        file[1 - writing].record[0] = NOTHING; file[1 - writing].former[0] = 0;
        file[1 - writing].record[1] = NOTHING; file[1 - writing].former[1] = 0;
        agrees()
    }
}

mtype said;

/* A helper that died over an order is started again, and told again. */
/* libexec/broker/threads/attach.c attach_apply and attach_restore; libexec/broker/helper/helper.c helper_on_start */
inline tell(what, r)
{
    do
    :: order!what, r, former[r];
       answer?said;
       if
       :: said == DIED -> skip
       :: else -> break
       fi
    od
}

/* libexec/broker/activation/apply-grant.c apply_grant_detach; libexec/broker/threads/attach.c attach_restore */
inline put_back(r)
{
    tell(RESTORE, r);
    atomic { assert(!alive[r] || attributes[r] == original[r]); attached[r] = false; former[r] = 0 } /* former */
}

/* libexec/broker/accounting/accounting.c grant_unbook */
inline unbook(r)
{
    atomic { granted[r] = false; used-- }
}

/* libexec/broker/activation/apply-grant.c apply_grant_record, apply_grant_apply, apply_grant_applied and no_thread */
inline create(r)
{
    if
    :: used < CAPACITY && alive[r] ->
       atomic { granted[r] = true; used++ } /* libexec/broker/accounting/accounting.c grant_book */
       atomic { former[r] = attributes[r]; attached[r] = true }
#if FAULT == 1
       tell(APPLY, r);
       write(r, ATTACHED, former[r]);
#elif FAULT == 2
       write(r, GRANTED, 0);
       tell(APPLY, r);
       write(r, ATTACHED, former[r]);
#else
       write(r, ATTACHED, former[r]); /* libexec/broker/requests/request.c request_record */
       tell(APPLY, r);
#endif
       if
       :: said == DONE -> skip
       :: else ->
          put_back(r);
          write(r, NOTHING, 0); /* libexec/broker/reservations/journal.c journal_gone */
#if FAULT == 5
          granted[r] = false
#else
          unbook(r)
#endif
       fi
    :: else -> skip /* refused: libexec/broker/resource/ledger.c ledger_fits */
    fi
}

/* libexec/broker/pipeline.c released */
inline release(r)
{
#if FAULT == 4
    write(r, NOTHING, 0);
    if
    :: attached[r] -> put_back(r)
    :: else -> skip
    fi;
#else
    if
    :: attached[r] -> put_back(r)
    :: else -> skip
    fi;
    write(r, NOTHING, 0);
#endif
    unbook(r)
}

/* libexec/broker/activation/thread-events.c thread_events_look; libexec/broker/threads/attachments.c attachment_end */
inline ended(r)
{
    atomic { attached[r] = false; former[r] = 0 }
    write(r, GRANTED, 0)
}

/* libexec/broker/recovery/take-up.c take_up, take_up_grant, take_up_thread */
inline take_up(r)
{
    atomic {
        granted[r] = RECORD(r) != NOTHING;
        attached[r] = RECORD(r) == ATTACHED;
        former[r] = FORMER(r);
#if FAULT == 3
        former[r] = attributes[r];
#endif
        used = used + granted[r]
    }
}

/* libexec/broker/recovery/take-up.c take_up_go_on; libexec/broker/reconcile.c reconcile_recover */
inline go_on(r)
{
    if
    :: attached[r] && alive[r] -> tell(APPLY, r); if :: said == DONE || said == GONE -> skip :: else -> put_back(r); write(r, GRANTED, 0) fi
    :: else -> skip
    fi
}

proctype broker() provided (!kill_helper)
{
    byte r;
    bool there;
again:
    {
        /* The helper shares the lock of the broker that started it. libexec/broker/spool/spool.c take_lock */
#if FAULT != 7
        (!helper_works && empty(order));
#endif
        atomic {
            do :: answer?_ :: empty(answer) -> break od;
            do :: found?_, _ :: empty(found) -> break od;
            told[0] = 2; told[1] = 2;
            used = 0
        }
        take_up(0);
        take_up(1);
        write_anew();
        go_on(0);
        go_on(1);
        serving = true;
    end: do
        :: atomic { found?there, r;
           assert(used == granted[0] + granted[1] && used <= CAPACITY); /* capacity */
           assert(granted[0] == (RECORD(0) != NOTHING) && granted[1] == (RECORD(1) != NOTHING)) };
           if
           :: there && !granted[r] -> create(r)
           :: !there && granted[r] -> release(r)
           :: else -> skip /* libexec/broker/directories/scans.c scan_file: known */
           fi
        :: attached[0] && !alive[0] -> ended(0)
        :: attached[1] && !alive[1] -> ended(1)
        :: !tidied && attached[0] -> tidied = true; write_anew() /* libexec/broker/recovery/journal-rewrite.c journal_rewrite_if_due */
        od
    } unless { atomic { kill_broker -> serving = false; granted[0] = false; granted[1] = false;
                        attached[0] = false; attached[1] = false; former[0] = 0; former[1] = 0; used = 0; said = 0; r = 0; there = false; kill_broker = false } }
    goto again
}

/* libexec/attach/rtf-attach.c serve_one: a change of a thread is one step of this model, and the helper's answer is another step. If the broker dies, the helper finishes the requests that it has received, and ends. */
proctype helper() provided (!kill_broker)
{
    mtype what, before;
    byte r;
end_again:
    {
    end: do
        :: atomic { order?what, r, before -> helper_works = true };
           if
           :: what == APPLY -> /* lib/scheduling.c scheduling_apply */
              if
              :: atomic { alive[r] -> attributes[r] = REAL_TIME; agrees() }; atomic { answer!DONE; helper_works = false }
              :: atomic { alive[r] -> answer!REFUSED; helper_works = false }
              :: atomic { !alive[r] -> answer!GONE; helper_works = false }
              fi
           :: what == RESTORE -> /* lib/scheduling.c scheduling_restore */
              atomic { if :: alive[r] -> attributes[r] = before :: else -> skip fi };
              atomic { answer!DONE; helper_works = false }
           fi
        od
    } unless { atomic { kill_helper -> kill_helper = false; helper_works = false; if :: empty(answer) -> answer!DIED :: nempty(answer) -> skip fi } }
    goto end_again
}

/* libexec/reader/directory.c: tells what is there, and after a restart tells all of it once more (libexec/broker/users/readers.c start) */
proctype readers() provided (!kill_broker && !kill_helper)
{
end: do
    :: atomic { serving && told[0] != spec[0] && nfull(found) -> told[0] = spec[0]; found!spec[0], 0 }
    :: atomic { serving && told[1] != spec[1] && nfull(found) -> told[1] = spec[1]; found!spec[1], 1 }
    od
}

/* The first user creates, removes and again creates a spec; the second user creates and removes a spec. The first user's thread may end at any time. */
proctype users() provided (!kill_broker && !kill_helper)
{
    spec[0] = true;
    spec[0] = false;
    spec[0] = true
}
proctype other_user() provided (!kill_broker && !kill_helper)
{
    spec[1] = true;
    spec[1] = false
}
proctype thread() provided (!kill_broker && !kill_helper)
{
    if
    :: atomic { alive[0] = false; attributes[0] = original[0] }
    :: true
    fi
}

proctype fate() provided (!kill_broker && !kill_helper)
{
    do
    :: atomic { crashes < CRASHES && !kill_broker -> crashes++; kill_broker = true }
    :: atomic { crashes < CRASHES && helper_works && !kill_helper -> crashes++; kill_helper = true }
    :: atomic { crashes < CRASHES && serving -> crashes++; told[0] = 2; told[1] = 2 } /* the readers */
    :: break
    od
}

/* Checked when no process can go on. */
proctype settled()
{
    timeout ->
    assert(serving && used == granted[0] + granted[1]); /* capacity: nothing is lost */
    assert(spec[0] || (!granted[0] && attributes[0] == original[0])); /* former */
    assert(spec[1] || (!granted[1] && attributes[1] == original[1]));
    assert(!granted[0] || !alive[0] || !attached[0] || attributes[0] == REAL_TIME);
    assert(granted[0] == (RECORD(0) != NOTHING) && granted[1] == (RECORD(1) != NOTHING))
}

init
{
    d_step {
        alive[0] = true; alive[1] = true;
        original[0] = NICE; original[1] = ORDINARY;
        attributes[0] = NICE; attributes[1] = ORDINARY;
        file[0].record[0] = NOTHING; file[0].record[1] = NOTHING; file[1].record[0] = NOTHING; file[1].record[1] = NOTHING
    }
    atomic {
        run broker(); run helper(); run readers(); run users(); run other_user(); run thread(); run fate(); run settled()
    }
}
