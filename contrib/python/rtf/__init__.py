"""Real-time reservations for a program's own threads, over librtf: see rtf(3) and README.md.

    with rtf.reserve(runtime="5ms", period="20ms") as r:
        for tick in r.every():
            ...
"""

from __future__ import annotations

import asyncio
import ctypes
import datetime
import json
import re
import threading
import time
from types import TracebackType
from typing import Any, AsyncIterator, Dict, Iterator, NamedTuple, Optional, Type, Union

__all__ = ["reserve", "dry_run", "Reservation", "Plan", "Tick", "Error", "ScheduleFail", "AclFail", "NoBroker", "AttachFail", "BadSpec", "Timeout", "Gone"]

Time = Union[int, str, datetime.timedelta]


class Error(Exception):
    """A request has failed. reason: a sentence; code: a word for programs; nearest: the largest runtime in us that would be granted now, or None;
    nearest_minimum: if the runtime is too small, the least runtime in us that would be granted now, else None."""

    def __init__(self, reason: str, code: str = "", nearest: Optional[int] = None, nearest_minimum: Optional[int] = None) -> None:
        super().__init__(reason)
        self.reason, self.code, self.nearest, self.nearest_minimum = reason, code, nearest, nearest_minimum


class ScheduleFail(Error):
    """No plugin can grant the reservation."""


class AclFail(Error):
    """The access rules do not allow the reservation."""


class NoBroker(Error):
    """No broker runs on the spool, or it ended before it answered."""


class AttachFail(Error):
    """The thread cannot be attached."""


class BadSpec(Error):
    """The parameters contradict one another, or are not valid."""


class Timeout(Error):
    """The broker has not answered in time."""


class Gone(Error):
    """The reservation was removed or revoked, the reservation has expired, or its thread has ended."""


class Tick(NamedTuple):
    """One activation: its number from 0, how many activations before it were missed, and its time in ns of time.monotonic_ns()."""

    number: int
    missed: int
    time: int


class Plan(NamedTuple):
    """The grant that a reservation would get, from a dry run; accepted_runtime is in us."""

    plugin: str
    policy: str
    cpus: str
    accepted_runtime: int
    reason: str


_OK, _PENDING = 0, 6
_SHORT_PERIOD = 20000  # us, as in lib/librtf/rtf-periodic-task.c
_ERRORS: Dict[int, Type[Error]] = {1: ScheduleFail, 2: AclFail, 3: NoBroker, 4: AttachFail, 5: BadSpec, 7: Timeout, 8: Gone}


class _Handle(ctypes.Structure):
    _fields_ = [("own", ctypes.c_void_p)]


class _Params(ctypes.Structure):
    _fields_ = [("own", ctypes.c_ubyte * 512)]


_POINTER, _TEXT, _TIME, _FLAG, _INT = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_bool, ctypes.c_int
_CALLS: Dict[str, Any] = {
    "rtf_connect": (_INT, _POINTER, _TEXT), "rtf_disconnect": (None, _POINTER), "rtf_reason": (_TEXT, _POINTER),
    "rtf_set_timeout": (None, _POINTER, _TIME), "rtf_set_blocking": (None, _POINTER, _FLAG), "rtf_fd": (_INT, _POINTER), "rtf_process": (_INT, _POINTER),
    "rtf_params_set_period": (None, _POINTER, _TIME), "rtf_params_set_runtime": (None, _POINTER, _TIME),
    "rtf_params_set_des_runtime": (None, _POINTER, _TIME), "rtf_params_set_deadline": (None, _POINTER, _TIME),
    "rtf_params_set_priority": (None, _POINTER, ctypes.c_uint), "rtf_params_set_scheduler": (_INT, _POINTER, _TEXT),
    "rtf_params_ignore_admission": (None, _POINTER, _FLAG), "rtf_params_set_name": (_INT, _POINTER, _TEXT), "rtf_params_set_cpus": (_INT, _POINTER, _TEXT),
    "rtf_params_set_lasting": (None, _POINTER, _FLAG), "rtf_params_set_expires": (None, _POINTER, _TIME), "rtf_params_set_wait": (None, _POINTER, _FLAG),
    "rtf_params_set_importance": (None, _POINTER, ctypes.c_uint), "rtf_params_set_weight": (None, _POINTER, ctypes.c_uint),
    "rtf_params_set_modes": (_INT, _POINTER, _TEXT), "rtf_params_set_mode": (_INT, _POINTER, _TEXT), "rtf_params_set_claim": (_INT, _POINTER, _TEXT, _TEXT),
    "rtf_params_set_threads": (_INT, _POINTER, _TEXT), "rtf_params_set_keys": (_INT, _POINTER, _TEXT), "rtf_params_set_dry_run": (None, _POINTER, _FLAG), "rtf_params_from_spec": (_INT, _POINTER, _POINTER),
    "rtf_spec_create": (_INT, _POINTER, _POINTER, _POINTER), "rtf_spec_create_attached": (_INT, _POINTER, _POINTER, _POINTER, _INT),
    "rtf_spec_change": (_INT, _POINTER, _POINTER), "rtf_spec_release": (_INT, _POINTER), "rtf_spec_attach": (_INT, _POINTER, _INT),
    "rtf_spec_detach": (_INT, _POINTER), "rtf_spec_result": (_INT, _POINTER), "rtf_spec_reason": (_TEXT, _POINTER), "rtf_spec_code": (_TEXT, _POINTER),
    "rtf_spec_nearest": (_TIME, _POINTER), "rtf_spec_nearest_minimum": (_TIME, _POINTER), "rtf_spec_is_granted": (_FLAG, _POINTER), "rtf_spec_get_accepted_runtime": (_TIME, _POINTER),
    "rtf_spec_get_period": (_TIME, _POINTER), "rtf_spec_get_name": (_TEXT, _POINTER), "rtf_spec_get_plugin": (_TEXT, _POINTER),
    "rtf_spec_get_policy": (_TEXT, _POINTER), "rtf_spec_get_cpus": (_TEXT, _POINTER), "rtf_spec_get_thread": (_INT, _POINTER),
    "rtf_spec_is_attached": (_FLAG, _POINTER), "rtf_spec_get_mode": (_TEXT, _POINTER), "rtf_spec_get_runtime_in_mode": (_TIME, _POINTER),
    "rtf_spec_get_accepted_amount": (_TIME, _POINTER, _TEXT), "rtf_task_start": (_INT, _POINTER), "rtf_task_wait": (_INT, _POINTER, ctypes.POINTER(ctypes.c_uint64)),
    "rtf_task_activation": (ctypes.c_int64, _POINTER),
}  # fmt: skip


def _load() -> ctypes.CDLL:
    library = ctypes.CDLL("librtf.so.0")  # its calls let other threads of the interpreter run
    for name, (result, *arguments) in _CALLS.items():
        call = getattr(library, name)
        call.restype, call.argtypes = result, arguments
    return library


_rtf = _load()
_UNITS = {"us": 1, "ms": 1000, "s": 1000000, "min": 60000000, "h": 3600000000, "d": 86400000000}


def _number(key: str, value: Any) -> int:
    if isinstance(value, float):
        raise BadSpec(f"{key}={value!r} is not a whole number: round it, as in {key}=round(...)", "bad-spec")
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadSpec(f"{key}={value!r} is not a number from 0 on", "bad-spec")
    return value


def _microseconds(key: str, value: Time) -> int:
    if isinstance(value, datetime.timedelta):
        return value // datetime.timedelta(microseconds=1)
    if isinstance(value, str):
        match = re.fullmatch(r"([0-9]+)(us|ms|s|min|h|d)", value)
        if match is None:
            raise BadSpec(f"{key}={value!r}: a time must be a whole number and a unit (us, ms, s, min, h or d), or a number of microseconds", "bad-spec")
        return int(match[1]) * _UNITS[match[2]]
    if isinstance(value, float):
        raise BadSpec(f"{key}={value!r}: a time must be a whole number of microseconds: round it, as in {key}=round(...)", "bad-spec")
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadSpec(f"{key}={value!r} is no time: a time must be microseconds, text such as '5ms', or a timedelta", "bad-spec")
    return value


_SETTERS = {
    "runtime": "rtf_params_set_runtime", "period": "rtf_params_set_period", "deadline": "rtf_params_set_deadline",
    "desired_runtime": "rtf_params_set_des_runtime", "expires": "rtf_params_set_expires", "priority": "rtf_params_set_priority",
    "plugin": "rtf_params_set_scheduler", "name": "rtf_params_set_name", "cpus": "rtf_params_set_cpus", "lasting": "rtf_params_set_lasting",
    "wait": "rtf_params_set_wait", "ignore_admission": "rtf_params_ignore_admission", "importance": "rtf_params_set_importance",
    "weight": "rtf_params_set_weight", "mode": "rtf_params_set_mode", "modes": "rtf_params_set_modes", "threads": "rtf_params_set_threads",
    "units": "rtf_params_set_claim", "network": "rtf_params_set_claim", "disk": "rtf_params_set_claim",
}  # fmt: skip
_TIMES = ("runtime", "period", "deadline", "desired_runtime", "expires")
_NUMBERS = ("priority", "importance", "weight")
_TEXTS = ("plugin", "name", "cpus", "mode")
_CLAIMS = ("units", "network", "disk")
_OBJECTS = ("modes", "threads") + _CLAIMS
_FURTHER = ("lock_memory", "cpu_latency", "nice", "clamp", "reclaim", "overrun_signal", "move", "comment")


def _in_json(value: Any) -> Any:
    if isinstance(value, datetime.timedelta):
        return _microseconds("time", value)
    raise BadSpec(f"{value!r} has no place in a spec", "bad-spec")


def _as_c(key: str, value: Any) -> Any:
    if key in _TIMES:
        return _microseconds(key, value)
    if key in _NUMBERS:
        return _number(key, value)
    if key in _OBJECTS:
        return json.dumps(value, default=_in_json).encode()
    if key in _TEXTS:
        if not isinstance(value, str):
            raise BadSpec(f"{key}={value!r} is not a string", "bad-spec")
        return value.encode()
    return bool(value)


def _set(params: _Params, key: str, value: Any) -> None:
    """Sets a parameter. None: removes the key, as if it was never stated."""
    if key not in _SETTERS:
        raise TypeError(f"there is no parameter {key!r}")
    given = _as_c(key, value) if value is not None else None if key in _TEXTS + _OBJECTS else 0
    params.texts[key] = given  # librtf does not copy JSON
    arguments = (key.encode(), given) if key in _CLAIMS else (given,)
    if getattr(_rtf, _SETTERS[key])(ctypes.byref(params), *arguments) not in (None, _OK):
        raise BadSpec(f"{key}={value!r} is not a valid {key}", "bad-spec")


def _make_params(asked: Dict[str, Any]) -> _Params:
    params = _Params()
    params.texts = {}
    further = {key: value for key, value in asked.items() if key in _FURTHER and value is not None}
    for key, value in asked.items():
        if key not in _FURTHER:
            _set(params, key, value)
    if further:
        params.texts["further"] = json.dumps(further, default=_in_json).encode()
        _rtf.rtf_params_set_keys(ctypes.byref(params), params.texts["further"])
    return params


class Reservation:
    """A reservation, made by reserve(). It is in force from acquire() to release(); `with` and `async with` call these two."""

    def __init__(self, asked: Dict[str, Any], thread: Union[int, bool, None], spool: Optional[str], timeout: Time) -> None:
        self._params = _make_params(asked)
        self._by_name = asked.get("threads") is not None
        self._thread, self._spool, self._timeout = thread, spool, _microseconds("timeout", timeout)
        self._connection, self._spec = _Handle(), _Handle()

    # ---- the grant; times are microseconds

    name = property(lambda self: _rtf.rtf_spec_get_name(self._at).decode())
    plugin = property(lambda self: _rtf.rtf_spec_get_plugin(self._at).decode())
    policy = property(lambda self: _rtf.rtf_spec_get_policy(self._at).decode())
    cpus = property(lambda self: _rtf.rtf_spec_get_cpus(self._at).decode())
    mode = property(lambda self: _rtf.rtf_spec_get_mode(self._at).decode() or None)
    runtime_in_mode = property(lambda self: _rtf.rtf_spec_get_runtime_in_mode(self._at))
    reason = property(lambda self: _rtf.rtf_spec_reason(self._at).decode())
    accepted_runtime = property(lambda self: _rtf.rtf_spec_get_accepted_runtime(self._at))
    period = property(lambda self: _rtf.rtf_spec_get_period(self._at))
    granted = property(lambda self: _rtf.rtf_spec_is_granted(self._at))
    attached = property(lambda self: _rtf.rtf_spec_is_attached(self._at))
    thread = property(lambda self: _rtf.rtf_spec_get_thread(self._at) or None)

    def amount(self, resource: str) -> int:
        """Returns the reserved amount of "units" (a count), "network" or "disk" (bytes in each period)."""
        return int(_rtf.rtf_spec_get_accepted_amount(self._at, resource.encode()))

    def __repr__(self) -> str:
        if not self._connection.own:
            return "<rtf.Reservation, not in force>"
        if not self.granted:
            return f"<rtf.Reservation {self.name}, nothing granted: {self.reason}>"
        times = f", {self.accepted_runtime}us in {self.period}us" if self.accepted_runtime and self.period else ""
        thread = f"thread {self.thread}" if self.thread else "no thread"
        return f"<rtf.Reservation {self.name}: {self.plugin} {self.policy}{times}, {thread}>"

    @property
    def _at(self) -> Any:
        return ctypes.byref(self._spec)

    def _error(self, result: int) -> Error:
        nearest, least = _rtf.rtf_spec_nearest(self._at) or None, _rtf.rtf_spec_nearest_minimum(self._at) or None
        return _ERRORS.get(result, Error)(_rtf.rtf_spec_reason(self._at).decode(), _rtf.rtf_spec_code(self._at).decode(), nearest, least)

    def _check(self, result: int) -> None:
        if result != _OK:
            raise self._error(result)

    def _connect(self, blocking: bool) -> None:
        if self._connection.own:
            raise Error("it is in force already", "misuse")
        spool = self._spool.encode() if self._spool is not None else None
        if _rtf.rtf_connect(ctypes.byref(self._connection), spool) != _OK:
            reason = _rtf.rtf_reason(ctypes.byref(self._connection)).decode()
            self._disconnect()
            raise NoBroker(reason, "no-broker")
        _rtf.rtf_set_timeout(ctypes.byref(self._connection), self._timeout)
        _rtf.rtf_set_blocking(ctypes.byref(self._connection), blocking)

    def _disconnect(self) -> None:
        _rtf.rtf_disconnect(ctypes.byref(self._connection))

    def _create(self) -> int:
        connection, params = ctypes.byref(self._connection), ctypes.byref(self._params)
        if self._thread is False or (self._thread is None and self._by_name):
            return int(_rtf.rtf_spec_create(connection, self._at, params))
        thread = threading.get_native_id() if self._thread is None or self._thread is True else int(self._thread or 0)
        return int(_rtf.rtf_spec_create_attached(connection, self._at, params, thread))

    # ---- calls that wait for the answer

    def acquire(self) -> Reservation:
        """Asks for the reservation, and returns it when it is in force."""
        self._connect(True)
        try:
            self._check(self._create())
        except Error:
            self._disconnect()
            raise
        return self

    def _changed(self, asked: Dict[str, Any]) -> _Params:
        """Returns the parameters in force, with these values in place of the old ones. A program may not change the name."""
        for key in asked:
            if key == "name" or key in _FURTHER:
                raise TypeError(f"a reservation keeps its {key}")
        params = _make_params({})
        self._check(_rtf.rtf_params_from_spec(ctypes.byref(params), self._at))
        for key, value in asked.items():
            _set(params, key, value)
        return params

    def change(self, **asked: Any) -> None:
        """Changes these parameters; all other parameters stay. None: removes the parameter. If the broker refuses the change, the former parameters stay in force."""
        self._check(_rtf.rtf_spec_change(self._at, ctypes.byref(self._changed(asked))))

    def attach(self, thread: int = 0) -> None:
        """Attaches this thread (0: the calling thread) to the reservation. AttachFail with the code "busy": another living thread has the reservation, and keeps it until detach."""
        self._check(_rtf.rtf_spec_attach(self._at, thread or threading.get_native_id()))

    def detach(self) -> None:
        """Gives the thread its former scheduling back. The reservation stays."""
        self._check(_rtf.rtf_spec_detach(self._at))

    def release(self) -> None:
        """Ends the reservation, and returns when the thread has its former scheduling back. Does nothing if the reservation has ended already."""
        if self._connection.own:
            _rtf.rtf_set_blocking(ctypes.byref(self._connection), True)
            self._give_up()

    def _give_up(self) -> None:
        if self._connection.own:
            _rtf.rtf_spec_release(self._at)
            self._disconnect()

    def __enter__(self) -> Reservation:
        return self.acquire()

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.release()

    # ---- the same calls for asyncio, which do not block the event loop

    async def _answered(self, result: int) -> None:
        """Waits until the broker has answered the last request."""
        if result != _PENDING:
            self._check(result)
            return
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[int] = loop.create_future()

        def look() -> None:
            _rtf.rtf_process(ctypes.byref(self._connection))
            result = _rtf.rtf_spec_result(self._at)
            if result != _PENDING and not answer.done():
                answer.set_result(result)

        fd = _rtf.rtf_fd(ctypes.byref(self._connection))
        loop.add_reader(fd, look)
        try:
            look()  # the answer may have come before add_reader
            self._check(await asyncio.wait_for(answer, self._timeout / 1000000 or None))
        except asyncio.TimeoutError:
            raise Timeout("no answer within the time allowed", "no-answer") from None
        finally:
            loop.remove_reader(fd)

    async def acquire_async(self) -> Reservation:
        """Does the same as acquire, for the thread that runs the event loop."""
        self._connect(False)
        try:
            await self._answered(self._create())
        except BaseException:
            self._give_up()
            raise
        return self

    async def change_async(self, **asked: Any) -> None:
        """Does the same as change."""
        await self._answered(_rtf.rtf_spec_change(self._at, ctypes.byref(self._changed(asked))))

    async def attach_async(self, thread: int = 0) -> None:
        """Does the same as attach; 0: the thread that runs the event loop."""
        await self._answered(_rtf.rtf_spec_attach(self._at, thread or threading.get_native_id()))

    async def detach_async(self) -> None:
        """Does the same as detach."""
        await self._answered(_rtf.rtf_spec_detach(self._at))

    async def release_async(self) -> None:
        """Does the same as release. If the caller is cancelled, the release goes on without the caller."""
        await asyncio.get_running_loop().run_in_executor(None, self.release)

    async def __aenter__(self) -> Reservation:
        return await self.acquire_async()

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        await self.release_async()

    def every(self) -> _Periods:
        """Periods for `for` and `async for`: the first begins with the first turn. When the reservation has gone, or its thread is attached no more, the loop
        raises Gone, AttachFail or NoBroker, after the period."""
        return _Periods(self)


class _Periods:
    def __init__(self, reservation: Reservation) -> None:
        self._reservation = reservation

    def _start(self) -> Any:
        """Begins the periods. A short runtime has no room for what calls cost the first time: one period passes as a rehearsal."""
        spec = self._reservation._at
        if _rtf.rtf_task_start(spec) != _OK:
            raise Error("what is granted has no period", "misuse")
        if self._reservation.period <= _SHORT_PERIOD:
            self._next(0)
            _rtf.rtf_task_start(spec)
        return spec

    def _next(self, number: int) -> Tick:
        """Sleeps until the next activation, unless its time has passed."""
        missed = ctypes.c_uint64()
        self._reservation._check(_rtf.rtf_task_wait(self._reservation._at, ctypes.byref(missed)))
        return Tick(number, missed.value, _rtf.rtf_task_activation(self._reservation._at))

    def __iter__(self) -> Iterator[Tick]:
        tick = Tick(0, 0, _rtf.rtf_task_activation(self._start()))
        while True:
            yield tick
            tick = self._next(tick.number + 1)

    async def __aiter__(self) -> AsyncIterator[Tick]:
        tick = Tick(0, 0, _rtf.rtf_task_activation(self._start()))
        while True:
            yield tick
            left = tick.time + self._reservation.period * 1000 - time.monotonic_ns()
            await asyncio.sleep(max(left, 0) / 1e9)
            tick = self._next(tick.number + 1)


def reserve(*, thread: Union[int, bool, None] = None, spool: Optional[str] = None, timeout: Time = "30s", **asked: Any) -> Reservation:
    """Describes a reservation; acquire() or `with` asks for it. Parameters: runtime, period, deadline, desired_runtime, priority, plugin, cpus, name, lasting, expires,
    wait, ignore_admission, importance, weight, modes, mode, units, network, disk, threads, lock_memory, cpu_latency, nice, clamp, reclaim, overrun_signal, move, comment. A parameter that is
    an object in rtf-spec(5) is a dict. threads is a list of dicts: the rules of a program file for the threads of this process.

    thread: the thread that gets the reservation; None: the calling thread (with `threads`: the threads that the rules name); False: no thread yet."""
    return Reservation(asked, thread, spool, timeout)


def dry_run(*, spool: Optional[str] = None, timeout: Time = "30s", **asked: Any) -> Plan:
    """Returns the grant that reserve(...).acquire() would get now, or raises the exception that acquire() would raise. Nothing is reserved."""
    trial = Reservation(asked, False, spool, timeout)
    _rtf.rtf_params_set_dry_run(ctypes.byref(trial._params), True)
    try:
        trial.acquire()
        return Plan(trial.plugin, trial.policy, trial.cpus, trial.accepted_runtime, trial.reason)
    finally:
        trial.release()
