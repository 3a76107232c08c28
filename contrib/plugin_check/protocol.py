"""The form of paragraphs, and one plugin process that is asked in this form."""
import os
import re
import select
import subprocess
import time
from collections import namedtuple

GREETING_SECONDS = 5.0
ANSWER_SECONDS = 3.0  # the broker waits BROKER_SECONDS; this is longer, because a loaded machine shall not look like a hang
BROKER_SECONDS = 0.1
PARAGRAPH_BYTES, PARAGRAPH_PAIRS = 8192, 64
PARAGRAPH = re.compile(rb"([a-z][a-z0-9_]*=[\x20-\x7e]*(\n|\Z))+\Z")
ENDS_EARLY = "a plugin must not end before the end of its input, and this one {}"
UNASKED = "a plugin must send one answer to each request, and nothing unasked"

Reply = namedtuple("Reply", "updates closing")


class Lost(Exception):
    """The plugin cannot be asked any more. The broker would kill the plugin at this point."""

    def __init__(self, why, sent=None, got=None):
        super().__init__(why)
        self.why, self.sent, self.got = why, sent, got


def show(data):
    return data[:200].decode("ascii", "backslashreplace").replace("\n", "\\n")


def parse(block):
    """Reads one paragraph without its empty line, as strictly as the broker does."""
    if not PARAGRAPH.match(block):
        raise Lost("each line must be KEY=VALUE: a-z, 0-9 and _ before the =, printable ASCII after it", None, show(block))
    pairs = [line.split("=", 1) for line in block.decode("ascii").split("\n")]
    paragraph = dict(pairs)
    if len(paragraph) < len(pairs):
        raise Lost("a paragraph must not have a key twice", None, show(block))
    if len(pairs) > PARAGRAPH_PAIRS or len(block) > PARAGRAPH_BYTES:
        raise Lost(f"a paragraph must have at most {PARAGRAPH_PAIRS} lines and {PARAGRAPH_BYTES} bytes", None, show(block))
    return paragraph


def render(request):
    return "".join(f"{key}={value}\n" for key, value in request.items()).encode("ascii") + b"\n"


class Plugin:
    def __init__(self, arguments):
        try:
            self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        except OSError as error:
            raise Lost(f"{arguments[0]} cannot be started: {error.strerror}") from None
        self.input, self.output = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self.input, False)
        self.poll = select.poll()
        self.poll.register(self.output, select.POLLIN)
        self.unread, self.serial, self.slow = b"", 0, 0
        try:
            self.greeting = self.paragraph(GREETING_SECONDS, "a plugin must send its greeting within 5 s, unasked")
        except Lost:
            self.kill()
            raise

    def number(self, request):
        self.serial += 1
        return {"op": request["op"], "id": self.serial, **request}

    def ask(self, request):
        request = self.number(request)
        if self.unread:
            raise Lost(UNASKED, None, show(self.unread))
        start = time.monotonic()
        self.send(render(request))
        reply = self.reply(request)
        self.slow += time.monotonic() - start > BROKER_SECONDS
        return request, reply

    def ask_all(self, requests):
        """Writes all requests, and then returns their answers, which must come in the same order."""
        requests = [self.number(request) for request in requests]
        self.send(b"".join(map(render, requests)))
        return [(request, self.reply(request)) for request in requests]

    def send(self, data):
        """Reads while it writes: a plugin may wait because the pipe of its answers is full, and does not hang then."""
        while data:
            try:
                data = data[os.write(self.input, data):]
            except BlockingIOError:
                readable, writable, _ = select.select([self.output], [self.input], [], ANSWER_SECONDS)
                if readable:
                    self.fill()
                elif not writable:
                    raise Lost("a plugin must read requests until the end of its input, and this one stopped") from None
            except BrokenPipeError:
                raise Lost(ENDS_EARLY.format(self.ending())) from None

    def fill(self):
        got = os.read(self.output, 65536)
        if not got:
            raise Lost(ENDS_EARLY.format(self.ending()))
        self.unread += got

    def paragraph(self, seconds=ANSWER_SECONDS, demand="a plugin must answer each request at once"):
        while b"\n\n" not in self.unread and not self.unread.startswith(b"\n"):
            if len(self.unread) > PARAGRAPH_BYTES:
                break
            if not self.poll.poll(seconds * 1000):
                raise Lost(f"{demand}, and {self.why_silent()}")
            self.fill()
        block, _, self.unread = self.unread.partition(b"\n\n")
        return parse(block)

    def reply(self, request):
        updates = []
        try:
            paragraph = self.paragraph()
            while "answer" not in paragraph:
                if "update" not in paragraph:
                    raise Lost("a paragraph must have answer= or update=", None, paragraph)
                updates.append(paragraph)
                paragraph = self.paragraph()
            if paragraph.get("id", str(request["id"])) != str(request["id"]):
                raise Lost("requests must be answered in order, and an id= in an answer must be the request's", None, paragraph)
        except Lost as lost:
            raise Lost(lost.why, request, lost.got) from None
        return Reply(updates, paragraph)

    def why_silent(self):
        """Finds out what would make the plugin answer. Returns a sentence."""
        if self.unread:
            return f"'{show(self.unread)}' came without the empty line that ends a paragraph"
        try:
            self.send(render({"op": "release", "id": self.serial + 1, "task": 1}))
            if self.poll.poll(ANSWER_SECONDS * 1000):
                self.fill()
                return ("this answer came only when the next request began: it waits for a byte after the empty "
                        "line (awk's RS=\"\" does; read line by line)")
            self.process.stdin.close()
            if self.poll.poll(ANSWER_SECONDS * 1000):
                self.fill()
                return ("this answer came only at the end of its input: it holds its output back (C: fflush(stdout) "
                        "after each answer; awk: fflush(); Python: flush=True), or reads its input in blocks (mawk "
                        "without -W interactive)")
        except Lost as lost:
            return lost.why
        return "nothing came, not even at the end of its input: it hangs"

    def ending(self):
        try:
            status = self.process.wait(ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            return "goes on without its output"
        return f"exited with status {status}" if status >= 0 else f"was ended by signal {-status}"

    def close(self):
        """Ends the plugin's input. The plugin must exit with 0, and print nothing more."""
        self.process.stdin.close()
        rest = self.unread
        if self.poll.poll(ANSWER_SECONDS * 1000):
            rest += os.read(self.output, 65536)
        if rest:
            raise Lost(UNASKED, "end of input", show(rest))
        ending = self.ending()
        if ending != "exited with status 0":
            raise Lost(f"a plugin must exit with status 0 at the end of its input, and this one {ending}")

    def kill(self):
        self.process.kill()  # nothing happens if it has ended
        self.process.wait()
        self.process.stdout.close()
        self.process.stdin.close()
