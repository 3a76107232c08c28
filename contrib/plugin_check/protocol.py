"""The paragraph form and one plugin process that is spoken to in it."""
import os
import re
import select
import subprocess
import time
from collections import namedtuple

GREETING_SECONDS = 5.0
ANSWER_SECONDS = 2.0  # the broker's default is BROKER_SECONDS; a loaded machine shall not look like a hang
BROKER_SECONDS = 0.05
PARAGRAPH_BYTES, PARAGRAPH_PAIRS = 8192, 40
PRINTABLE = re.compile(rb"[\x20-\x7e\n]*\Z")
KEY = re.compile(r"[a-z][a-z0-9_]*\Z")

Reply = namedtuple("Reply", "updates closing")

BUFFERED = ("came only at the end of its input: it holds its output back (C: fflush(stdout) after each answer; "
            "awk: fflush(); Python: flush=True), or it reads its input in blocks (mawk without -W interactive)")


class Lost(Exception):
    """The conversation cannot go on; the broker would kill the plugin here."""

    def __init__(self, why, sent=None, got=None):
        super().__init__(why)
        self.why, self.sent, self.got = why, sent, got


def parse(block):
    """One paragraph without its empty line, as strictly as the broker reads it."""
    if len(block) > PARAGRAPH_BYTES:
        raise Lost(f"a paragraph has at most {PARAGRAPH_BYTES} bytes")
    shown = block.decode("ascii", "backslashreplace")[:200].replace("\n", "\\n")
    if not PRINTABLE.match(block):
        raise Lost("a paragraph is printable ASCII", None, shown)
    paragraph = {}
    for line in block.decode("ascii").split("\n"):
        key, equals, value = line.partition("=")
        if not equals or not KEY.match(key):
            raise Lost("each line is KEY=VALUE with a key of a-z, 0-9 and _", None, shown)
        if key in paragraph:
            raise Lost(f"a key stands once in a paragraph, and {key} stands twice", None, shown)
        paragraph[key] = value
    if len(paragraph) > PARAGRAPH_PAIRS:
        raise Lost(f"a paragraph has at most {PARAGRAPH_PAIRS} lines", None, shown)
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
        self.unread, self.serial, self.asked, self.slow = b"", 0, 0, 0
        try:
            self.greeting = self.paragraph(GREETING_SECONDS, "the greeting comes within 5 s, unasked")
        except Lost:
            self.kill()
            raise

    def number(self, request):
        """The request with the next id, its op first as the broker writes it."""
        self.serial += 1
        return {"op": request["op"], "id": self.serial, **request}

    def ask(self, request):
        request = self.number(request)
        if self.unread:
            raise Lost("each request has one answer, and nothing comes unasked", None, repr(self.unread[:200]))
        start = time.monotonic()
        self.send(render(request))
        reply = self.reply(request)
        self.asked += 1
        self.slow += time.monotonic() - start > BROKER_SECONDS
        return request, reply

    def ask_all(self, requests):
        """All in one stream of writes; answers must come in the same order."""
        requests = [self.number(request) for request in requests]
        self.send(b"".join(map(render, requests)))
        return [(request, self.reply(request)) for request in requests]

    def send(self, data):
        """Reads while it writes: a plugin that is blocked on a full pipe of answers is not hanging."""
        while data:
            try:
                data = data[os.write(self.input, data):]
            except BlockingIOError:
                readable, writable, _ = select.select([self.output], [self.input], [], ANSWER_SECONDS)
                if readable:
                    self.fill()
                elif not writable:
                    raise Lost("a plugin reads requests until the end of its input, and this one stopped") from None
            except BrokenPipeError:
                raise Lost(f"a plugin ends at the end of its input only, and this one {self.ending()}") from None

    def fill(self):
        got = os.read(self.output, 65536)
        if not got:
            raise Lost(f"a plugin ends at the end of its input only, and this one {self.ending()}")
        self.unread += got

    def paragraph(self, seconds=ANSWER_SECONDS, demand="each request is answered at once"):
        while True:
            if self.unread.startswith(b"\n"):
                raise Lost("there is no empty paragraph: one empty line ends an answer")
            end = self.unread.find(b"\n\n")
            if end >= 0:
                block, self.unread = self.unread[:end], self.unread[end + 2:]
                return parse(block)
            if len(self.unread) >= PARAGRAPH_BYTES:
                raise Lost(f"a paragraph has at most {PARAGRAPH_BYTES} bytes")
            if not self.poll.poll(seconds * 1000):
                raise Lost(f"{demand}, and {self.why_silent()}")
            self.fill()

    def reply(self, request):
        updates = []
        try:
            while True:
                paragraph = self.paragraph()
                if "answer" in paragraph:
                    break
                if "update" not in paragraph:
                    raise Lost("a paragraph has answer= or update=", None, paragraph)
                updates.append(paragraph)
            if paragraph.get("id", str(request["id"])) != str(request["id"]):
                raise Lost("requests are answered in order, and an echoed id= is the request's", None, paragraph)
        except Lost as lost:
            raise Lost(lost.why, request, lost.got) from None
        return Reply(updates, paragraph)

    def why_silent(self):
        """Finds out what would have made it speak."""
        if self.unread:
            return f"'{self.unread[:200]!r}' came without the empty line that ends a paragraph"
        try:
            self.send(render({"op": "release", "id": self.serial + 1, "task": 1}))
            if self.poll.poll(300):
                self.fill()
                return ("this answer came only when the next request began: it waits for a byte after the empty "
                        "line (awk's RS=\"\" does; read line by line)")
            self.process.stdin.close()
            if self.poll.poll(1000):
                self.fill()
                return "this answer " + BUFFERED
        except Lost as lost:
            return lost.why
        return "nothing came, at the end of its input neither: it hangs"

    def ending(self):
        try:
            status = self.process.wait(1)
        except subprocess.TimeoutExpired:
            return "closed its output"
        return f"exited with status {status}" if status >= 0 else f"was ended by signal {-status}"

    def close(self):
        """The end of its input: it must exit 0, and have nothing left to say."""
        self.process.stdin.close()
        rest = self.unread
        if self.poll.poll(ANSWER_SECONDS * 1000):
            rest += os.read(self.output, 65536)
        try:
            status = self.process.wait(ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            raise Lost("a plugin ends at the end of its input, and this one goes on") from None
        if rest:
            raise Lost("each request has one answer, and nothing comes unasked", "end of input",
                       rest[:200].decode("ascii", "replace").replace("\n", "\\n"))
        if status != 0:
            raise Lost(f"a plugin exits 0 at the end of its input, and this one {self.ending()}")

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        if not self.process.stdin.closed:
            self.process.stdin.close()
