"""Where the time goes in what misses its promise."""

import cProfile
import pstats
from typing import Any

from benchmarks.timing import Timing, warm_up

_CALLS = 5
_NAMED = 3  # functions


def describe_misses(timings: list[Timing]) -> str:
    """Return a sentence for each comparison whose ratio is below the promised one."""
    missed = [t for t in timings if t.comparison.promised and t.ratio < t.comparison.promised]
    if not missed:
        return "Every promise is kept."
    lines = ["What bounds those that miss their promise, from a profile:", ""]
    return "\n".join([*lines, *(_describe(timing) for timing in missed)])


def _describe(timing: Timing) -> str:
    c = timing.comparison
    data = c.data()
    warm_up(c.ours, data)
    profile = cProfile.Profile()
    for _ in range(_CALLS):
        profile.runcall(c.ours, data)
    stats: Any = pstats.Stats(profile)
    total = stats.total_tt
    own = sorted(((row[2], key, row[0]) for key, row in stats.stats.items()), reverse=True)
    named = ", ".join(
        f"`{key[2]}` {seconds / total:.0%} in {calls / _CALLS:g} calls"
        for seconds, key, calls in own[:_NAMED]
    )
    times = timing.times_the_read
    bound = "bytes" if times < 4 else "instructions"
    return (
        f"- {c.name}, {c.size}: {timing.ratio:.1f}x of {c.promised:g}x. It takes {times:.0f} times "
        f"as long as a streaming read of the same bytes, so {bound} bound it: {named}."
    )
