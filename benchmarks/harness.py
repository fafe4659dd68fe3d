"""Time the sides of a case in turn, in one run. No other module reads a clock."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from time import perf_counter, process_time, sleep
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).parent.parent
ROUNDS = 7
CALLS = 5  # per round and side; the median of them stands for the round
_SHORT = 1.0  # seconds: a longer call is made once per round
_FIRST = 5.0  # seconds: a first call no longer than this may be mostly imports or compilation
_REST = 0.3  # seconds before each side's turn: idle threads of the other may spin for 0.1
_WARM = 0.15  # seconds of calls that do not count: threads move to cores of their own
_ENOUGH = 30.0  # seconds that the rounds of a case may take together, if they are more than
_FEWEST = 3
_MODULES = {"scikit-learn": "sklearn"}  # where a distribution and its module differ in name


class Seconds(NamedTuple):
    """Wall-clock time, and CPU time of all threads and of child processes that ended."""

    wall: float
    cpu: float

    def times(self, factor: float) -> "Seconds":
        return Seconds(factor * self.wall, factor * self.cpu)


@dataclass(frozen=True)
class Promise:
    """A limit of a case.

    Attributes
    ----------
    limit : float
    unit : str
        "x": at least so many times as fast as the peer; "x the time": at most so many times the
        time of the peer; "s", "s of CPU": at most so many seconds.
    bound : str
        What takes the time of a case that misses its promise.
    """

    limit: float
    unit: str = "x"
    bound: str = ""

    def __str__(self) -> str:
        return f"{self.limit:g}{'' if self.unit.startswith('x') else ' '}{self.unit}"


@dataclass(frozen=True, eq=False)
class Case:
    """One computation, by fastpsr and, if there is one, by a peer.

    Attributes
    ----------
    name : str
    data : str, or an object whose `make` returns the data
        What both sides are called with.
    ours, peer : callable of the data
    agree : callable of (data, value of ours, value of the peer)
        Raises an AssertionError unless both sides computed the same.
    packages : tuple of str
        Distributions of the peer.
    promise : Promise or None
    factor : float
        By which the time of the peer is multiplied: it makes fewer replicates.
    is_cold : bool
        Whether a single call is timed, and nothing before it.
    """

    name: str
    data: Any
    ours: Callable[[Any], Any]
    peer: Callable[[Any], Any] | None = None
    agree: Callable[[Any, Any, Any], None] | None = None
    packages: tuple[str, ...] = ()
    promise: Promise | None = None
    factor: float = 1.0
    is_cold: bool = False

    @property
    def is_installed(self) -> bool:
        return all(find_spec(_MODULES.get(name, name)) is not None for name in self.packages)

    @property
    def peer_label(self) -> str:
        """Names and versions of the peer."""
        return " with ".join(f"{name} {version(name)}" for name in self.packages) or "a loop"

    @property
    def sides(self) -> list[Callable[[Any], Any]]:
        return [self.ours] if self.peer is None else [self.ours, self.peer]

    def __str__(self) -> str:
        return f"{self.name}, {self.data}"

    def inputs(self) -> Any:
        return self.data if isinstance(self.data, str) else self.data.make()

    def check(self, inputs: Any) -> float:
        """Compute both sides, which warms them up; raise unless they agree.

        Returns the seconds of the slower side.
        """
        slowest, values = 0.0, []
        for side in self.sides:
            seconds, value = timed(lambda side=side: side(inputs))
            if seconds.wall < _FIRST:
                seconds, value = timed(lambda side=side: side(inputs))
            slowest = max(slowest, seconds.wall)
            values.append(value)
        if self.agree is not None:
            self.agree(inputs, *values)
        return slowest


@dataclass(frozen=True, eq=False)
class Timing:
    """Seconds per call of both sides, round by round."""

    case: Case
    ours: list[Seconds]
    peer: list[Seconds]

    def ratios(self, kind: int = 0) -> list[float]:
        """Return how many times as fast as the peer we were in each round, by wall or CPU (1)."""
        return [peer[kind] / ours[kind] for ours, peer in zip(self.ours, self.peer, strict=True)]

    @property
    def measured(self) -> float:
        """The figure that the promise limits."""
        unit = self.case.promise.unit if self.case.promise else "s"
        if unit.startswith("x"):
            return median(self.ratios()) if unit == "x" else 1.0 / median(self.ratios())
        return median(seconds[unit == "s of CPU"] for seconds in self.ours)

    @property
    def is_missed(self) -> bool:
        promise = self.case.promise
        if promise is None:
            return False
        low, high = sorted((self.measured, promise.limit))
        return low < high and (self.measured == low) == (promise.unit == "x")

    def figures(self) -> dict[str, Any]:
        """Return the timing for JSON."""
        promise = self.case.promise
        return {
            "name": self.case.name,
            "data": str(self.case.data),
            "peer": self.case.peer_label if self.peer else None,
            "promised": promise and str(promise),
            "ours": self.ours,
            "theirs": self.peer,
            "ratio": quartiles(self.ratios()) if self.peer else None,
        }


def timed(call: Callable[[], Any]) -> tuple[Seconds, Any]:
    """Return the seconds of a call, and its value."""
    begun, busy = perf_counter(), _cpu()
    value = call()
    return Seconds(perf_counter() - begun, _cpu() - busy), value


def _cpu() -> float:
    children = getrusage(RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def rounds_for(seconds: float, asked: int) -> int:
    """Return how many rounds to take where the slower side needs so long for one."""
    return max(min(_FEWEST, asked), min(asked, int(_ENOUGH / max(seconds, 1e-9))))


def rest() -> None:
    """Wait until threads of the side that was timed before have stopped spinning."""
    sleep(_REST)


def turn(call: Callable[[], Any], make: Callable[[], Any] | None = None) -> Seconds:
    """Return the median seconds of a side in its turn: after a rest, and calls that do not count.

    `make`, which is not timed, is called before each call, whose argument it returns.
    """

    def one() -> Seconds:
        if make is None:
            return timed(call)[0]
        made = make()
        return timed(lambda: call(made))[0]  # type: ignore[call-arg]

    rest()
    first = one()
    if first.wall >= _SHORT:
        return first
    warm = first.wall
    while warm < _WARM:
        warm += max(one().wall, 1e-6)
    seconds = [one() for _ in range(CALLS)]
    return Seconds(*(median(kind) for kind in zip(*seconds, strict=True)))


def in_turn(calls: Sequence[Callable[[], Any]], rounds: int) -> list[list[Seconds]]:
    """Return the seconds of each side, round by round; in each round all sides have their turn."""
    found = [[turn(call) for call in calls] for _ in range(rounds)]
    return [list(side) for side in zip(*found, strict=True)]


def measure(case: Case, asked_rounds: int) -> Timing:
    """Check that both sides agree, then time ours, the peer, ours, the peer, ..."""
    inputs = case.inputs()
    if case.is_cold:
        return Timing(case, [timed(lambda: case.ours(inputs))[0]], [])
    rounds = rounds_for(case.check(inputs), asked_rounds)
    ours, *peer = in_turn([lambda side=side: side(inputs) for side in case.sides], rounds)
    return Timing(case, ours, [each.times(case.factor) for side in peer for each in side])


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the median between the lower and the upper quartile."""
    low, middle, high = np.percentile(values, [25, 50, 75])
    return float(low), float(middle), float(high)


# Processes


def run(*command: Any, cache: str = "") -> str:
    """Run Python in a process of its own, and return what it prints."""
    environment = dict(os.environ) | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its byte code
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=ROOT, env=environment, text=True, capture_output=True,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def in_process(module: str, function: str, *arguments: Any, checkout: Path = ROOT) -> Any:
    """Return what a function of a module returns in a process of its own.

    Arguments and value are JSON; fastpsr is that of the checkout.
    """
    code = (
        f"import sys, json; sys.path.insert(0, {str(checkout)!r}); import fastpsr; "
        f"sys.path.insert(0, {str(ROOT)!r}); from {module} import {function} as call; "
        f"print(json.dumps(call(*json.loads({json.dumps(arguments)!r}))))"
    )
    return json.loads(run("-P", "-c", code).splitlines()[-1])


def growth_of(call: Callable[[], object]) -> int:
    """Return by how many bytes a call raises the peak of memory over what is held before."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew from what is held now
    before = _memory("VmRSS")
    call()
    return max(0, _memory("VmHWM") - before)


def _memory(field: str) -> int:
    """Return VmRSS (now) or VmHWM (at most) in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise OSError(f"the system does not report {field}")
