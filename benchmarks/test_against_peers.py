"""The comparisons under pytest-benchmark: `pytest benchmarks --benchmark-only`.

No test fails for being slow: a test fails where the two sides disagree.
"""

from functools import cache

import pytest

from benchmarks import table2, timing
from benchmarks.comparisons import COMPARISONS

pytestmark = pytest.mark.filterwarnings("default")  # peers warn of their own affairs

_ROUNDS = 7

checked = cache(timing.check)  # once for both sides


@pytest.mark.parametrize("side", ["fastpsr", "peer"])
@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda c: f"{c.name}, {c.size}")
def test_comparison(benchmark, comparison, side):
    pytest.importorskip(comparison.peer_module)
    rounds = timing.rounds_for(checked(comparison), _ROUNDS)
    benchmark.group = f"{comparison.name} ({comparison.size}), peer: {comparison.peer_label}"
    benchmark.extra_info["promised ratio"] = comparison.promised
    if side == "fastpsr":
        rounds *= timing.CALLS
    run = comparison.ours if side == "fastpsr" else comparison.peer
    timing.rest()
    benchmark.pedantic(run, args=(comparison.data(),), rounds=rounds)


@pytest.mark.skipif(table2.data_folder() is None, reason="FASTPSR_DATA is not set")
def test_table_2(benchmark):
    pytest.importorskip("sklearn")
    script = table2.load_script()
    benchmark.group = "Table 2"
    benchmark.extra_info["promised seconds"] = table2.PROMISED_SECONDS
    benchmark.pedantic(
        table2.print_table, args=(script, table2.data_folder()), rounds=3, warmup_rounds=1
    )
