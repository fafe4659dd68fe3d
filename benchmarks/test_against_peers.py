"""The promises of speed under pytest-benchmark: `pytest benchmarks --benchmark-only`.

A test fails where the two sides disagree, or where a promise is missed by more than a fifth.
"""

import pytest

from benchmarks import comparisons, harness, intervals, startup, text

pytestmark = pytest.mark.filterwarnings("default")  # peers warn of their own affairs

_ROUNDS = 3
_TOLERANCE = 1.2
CASES = [
    case
    for module_cases in (
        comparisons.CASES, intervals.COMPARISONS, intervals.CALLS, text.CASES, startup.WARM,
        startup.COLD,
    )
    for case in module_cases
    if case.promise
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_promise(benchmark, case):
    if not case.is_installed:
        pytest.skip(f"needs {', '.join(case.packages)}")
    timing = harness.measure(case, _ROUNDS)
    benchmark.group = str(case)
    benchmark.extra_info |= timing.figures()
    benchmark.pedantic(case.ours, args=(case.inputs(),), rounds=len(timing.ours))
    low, high = sorted((timing.measured, case.promise.limit))
    assert not timing.is_missed or high <= _TOLERANCE * low, timing.measured
