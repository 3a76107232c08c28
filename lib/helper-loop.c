#include "helper-loop.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include "send-fds.h"

enum done refuse(char reason[static SERVE_REASON], const char *sentence)
{
    snprintf(reason, SERVE_REASON, "%s", sentence);
    return REFUSED;
}

static bool answer(const char *id, enum done done, const char *reason)
{
    static struct paragraph_output output;
    static const char *const answers[] = {[DONE] = "ok", [GONE] = "gone", [REFUSED] = "no"};
    paragraph_add(&output, "id", id);
    paragraph_add(&output, "answer", answers[done]);
    if (done == REFUSED)
        paragraph_add(&output, "reason", reason);
    paragraph_close(&output);
    const bool sent = send_with_fd(STDIN_FILENO, output.data, output.length, -1, MSG_NOSIGNAL);
    paragraph_drop(&output, output.length);
    return sent;
}

int serve(serve_one *one)
{
    static struct paragraph_input input;
    char bytes[PARAGRAPH_BYTES];
    for (;;) {
        struct paragraph request;
        const char *why, *id, *op;
        char reason[SERVE_REASON] = "";
        int fd;
        const ssize_t got = receive_with_fd(STDIN_FILENO, bytes, sizeof bytes, &fd);
        if (fd >= 0)
            close(fd);
        if (got == 0)
            return EX_OK;
        if (got < 0 || !paragraph_feed(&input, bytes, (size_t)got) ||
            paragraph_take(&input, &request, &why) != 1 ||
            (id = paragraph_get(&request, "id")) == NULL)
            return EX_DATAERR;
        op = paragraph_get(&request, "op");
        const enum done done = op == NULL ? refuse(reason, "no op=") : one(op, &request, reason);
        if (!answer(id, done, reason))
            return EX_OK;
    }
}
