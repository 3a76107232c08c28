/* Limits the files that a program can use (landlock(7)), and the system calls that it can make
 * (seccomp(2)). A program calls these functions before it reads hostile input. For capabilities see
 * capabilities.h.
 *
 * All limits are inherited and cannot be lifted. If a function returns false, the program must end.
 * Only Landlock may be missing in the kernel: then the caller logs the cause and goes on. */
#ifndef RTF_CONFINE_H
#define RTF_CONFINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes sure that execve(2) gives this process no new privileges, not even with a set-user-ID
 * program. Call this before all other functions of this header; only capabilities_keep may come
 * earlier. */
bool confine_for_good(void);

/* An entry in a list of paths: the rights of the program to the files beneath `path`. The list ends
 * with the path NULL. A path that does not exist is left out. */
struct confine_path {
    const char *path;
    /* MAY_WRITE: write existing files; MAY_CHANGE: also create and remove; MAY_REPLACE: create,
     * write and remove regular files, and read nothing */
    enum { MAY_READ, MAY_WRITE, MAY_CHANGE, MAY_REPLACE } may;
};

/* True if /proc is mounted with hidepid=. Then a process sees in /proc only processes that it may
 * trace. Under Landlock it may trace no process outside of its own Landlock domain, so a program
 * that reads other processes in /proc cannot use Landlock there. */
bool confine_proc_is_hidden(void);

/* Allows only these files, and no signals to other programs. NULL: done; else the cause of the
 * failure, for a log. */
const char *confine_files(const struct confine_path paths[]);

/* Allows reading anything that the user may read, but no writing, and no signals to other
 * programs. */
void confine_writes(void);

/* Allows only these system calls, and some uses that every program needs: fcntl without signals,
 * ioctl for a terminal's mode and for perf events, the program's own limits, and signals to itself.
 * All other calls fail with EPERM. A string has one or more names, with single blanks between them;
 * the list ends with NULL. */
bool confine_calls(const char *const names[]);

/* The system calls that each helper of helper-loop.h needs. A helper waits for requests, answers
 * them, looks at files and threads, allocates memory, and ends. */
#define CONFINE_HELPER                                                                       \
    "poll ppoll recvmsg sendmsg read pread64 write writev clock_gettime futex rt_sigreturn " \
    "rt_sigprocmask restart_syscall open openat close fstat newfstatat getdents64 lseek "    \
    "readlink readlinkat pidfd_open brk mmap munmap mremap mprotect madvise getpid gettid "  \
    "exit exit_group"

/* An entry in a list of calls that are allowed only with exactly these arguments. The list ends
 * with the name NULL. The filter compares a string argument by its address, so the string must be
 * in memory that can no longer be written. confine_calls_exactly is like confine_calls, and also
 * allows the calls of this list. */
struct confine_exact {
    const char *name;
    unsigned count;
    struct {
        unsigned argument;
        uint64_t value;
    } is[4];
};
bool confine_calls_exactly(const char *const names[], const struct confine_exact exact[]);

/* Refuses everything that a filter between standard input and output does not need: network,
 * tracing, namespaces, real-time scheduling, file permissions, and objects that outlive a
 * process. */
bool confine_program(void);

/* Sets resource limits: few descriptors and processes, bounded memory, no real-time scheduling, no
 * core dump. */
void confine_resources(void);

#endif
