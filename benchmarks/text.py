"""Trial lists as text, beside polars and beside a plain loop.

    python -m benchmarks.text --rounds 3

Lists have ids as VoxCeleb's, in random order. In memory, a key and scores are read and joined, and
polars reads the columns of both files. End to end, an EER is computed of a file of scores with
labels: by fastpsr, and wespeaker's way, in a loop over its lines; in a process at work, and in
processes of their own, `fastpsr evaluate` and a script that imports nothing but NumPy. Both sides
must agree before they are timed in turn.
"""

import argparse
import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

import fastpsr as fp

_IDS = 150_000
_ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Lists:
    """Files of one list: the key, scores in its order, in another, and with labels."""

    key: Path
    scores: Path
    shuffled: Path
    labeled: Path


def write_lists(folder: Path, n_trials: int, seed: int = 0) -> Lists:
    """Write trials of random pairs of ids, a tenth of them targets; none occurs twice."""
    import polars as pl

    rng = np.random.default_rng(seed)
    speakers = rng.integers(10_001, 11_252, _IDS)
    videos = rng.integers(0, 36**5, _IDS)
    ids = pl.Series(
        [
            f"id{speaker}/{np.base_repr(video, 36):0>11}/{k % 1000:05}.wav"
            for k, (speaker, video) in enumerate(zip(speakers, videos, strict=True))
        ]
    )
    pairs = np.unique(rng.integers(0, _IDS**2, n_trials + n_trials // 100 + 100))
    pairs = rng.permutation(pairs)[:n_trials]
    y = rng.random(n_trials) < 0.1
    frame = pl.DataFrame(
        {
            "enroll": ids.gather(pairs // _IDS),
            "test": ids.gather(pairs % _IDS),
            "score": (rng.normal(size=n_trials) + 3.0 * y).round(5),
            "label": pl.Series(["nontarget", "target"]).gather(y.astype(int)),
        }
    )
    lists = Lists(*(folder / name for name in ("key", "scores", "shuffled", "labeled")))
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=seed)
    for path, rows, columns in (
        (lists.key, frame, ["enroll", "test", "label"]),
        (lists.scores, frame, ["enroll", "test", "score"]),
        (lists.shuffled, shuffled, ["enroll", "test", "score"]),
        (lists.labeled, frame, ["enroll", "test", "score", "label"]),
    ):
        rows.select(columns).write_csv(path, separator=" ", include_header=False)
    return lists


def read_by_polars(lists: Lists) -> Any:
    """Return the columns of the key and of the scores."""
    import polars as pl

    def read(path: Path, last: Any) -> Any:
        kinds = {"enroll": pl.String, "test": pl.String, "last": last}
        return pl.read_csv(path, separator=" ", has_header=False, schema=kinds, quote_char=None)

    return read(lists.key, pl.String), read(lists.scores, pl.Float64)


def loop_over_lines(path: Path) -> float:
    """Return the EER of scores with labels as wespeaker's `compute_metrics.py` computes it."""
    scores, labels = [], []
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.strip().split()
            scores.append(float(words[2]))
            labels.append(words[3] == "target")
    order = np.argsort(np.hstack(scores))
    is_target = np.array(labels)[order]
    misses = np.cumsum(is_target) / is_target.sum()
    false_alarms = 1.0 - np.cumsum(~is_target) / (~is_target).sum()
    k = int(np.flatnonzero(misses >= false_alarms)[0])
    return float((misses[k] + false_alarms[k]) / 2.0)


def check(lists: Lists) -> None:
    """Raise unless both sides read, and compute, the same."""
    key, scores = read_by_polars(lists)
    for path in (lists.scores, lists.shuffled):
        made = fp.trials.read(lists.key, path)
        assert made.ids[0].series().equals(key["enroll"], check_names=False)
        assert made.ids[1].series().equals(key["test"], check_names=False)
        assert (made.score == scores["last"].to_numpy()).all()
        assert (made.y_true == (key["last"] == "target").to_numpy()).all()
    eer = fp.EER()(made.predictions("raw"))
    assert abs(eer - loop_over_lines(lists.labeled)) < 1e-3


def times(calls: list[Callable[[], Any]], rounds: int) -> list[list[tuple[float, float]]]:
    """Return seconds and CPU seconds of each call, in turn, round by round."""
    found = []
    for _ in range(rounds):
        found.append([])
        for call in calls:
            begun, busy = perf_counter(), sum(os.times()[:4])
            call()
            found[-1].append((perf_counter() - begun, sum(os.times()[:4]) - busy))
    return found


def describe(name: str, found: list[list[tuple[float, float]]], ours: int, promised: str) -> str:
    """Return a row of the table: the peer is the last call."""
    cells = []
    for kind in (0, 1):
        mine, peer = (median(each[k][kind] for each in found) for k in (ours, -1))
        ratio = median(each[ours][kind] / each[-1][kind] for each in found)
        cells.append(f"{mine:.2f} s | {peer:.2f} s | **{ratio:.2f}x**")
    return f"| {name} | {' | '.join(cells)} | {promised} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.text", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=10_000_000, help="of the lists in memory")
    given = parser.parse_args()
    print(f"Load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores at the start", flush=True)
    rows = [
        "| | fastpsr | peer | ratio | its CPU time | peer's | ratio | promised |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    with TemporaryDirectory() as folder:
        lists = write_lists(Path(folder), 1_000_000)
        check(lists)
        run = [sys.executable, "-m"]
        evaluate = [*run, "fastpsr", "evaluate", "--scores", lists.labeled,
                    "--scores-are", "raw", "--metrics", "eer"]  # fmt: skip
        loop = [sys.executable, "-c", _loop_alone(), lists.labeled]
        _process(evaluate)  # fills the caches
        ends = [
            lambda: fp.EER()(fp.trials.read(lists.labeled).predictions("raw")),
            lambda: loop_over_lines(lists.labeled),
        ]
        what = "1,000,000 trials to an EER"
        found = times(ends, given.rounds)
        rows.append(describe(f"{what}, beside a loop", found, 0, "1x"))
        found = times([lambda: _process(evaluate), lambda: _process(loop)], given.rounds)
        rows.append(describe(f"{what}, as processes, beside a loop", found, 0, "1x"))
        lists = write_lists(Path(folder), given.trials)
        calls = [
            lambda: fp.trials.read(lists.key, lists.scores),
            lambda: fp.trials.read(lists.key, lists.shuffled),
            lambda: read_by_polars(lists),
        ]
        found = times(calls, given.rounds)
        what = f"{given.trials:,} trials read and joined"
        rows.append(describe(f"{what}, in one order, beside polars", found, 0, "1.3x"))
        rows.append(describe(f"{what}, in another order, beside polars", found, 1, "-"))
    print("\n".join(rows))
    print(f"\nLoad {os.getloadavg()[0]:.1f} at the end")


def _loop_alone() -> str:
    """Return the loop as a program that imports nothing but NumPy."""
    head = "import sys\nfrom pathlib import Path\nimport numpy as np\n"
    return f"{head}{inspect.getsource(loop_over_lines)}print(loop_over_lines(Path(sys.argv[1])))"


def _process(command: list[Any]) -> None:
    installed = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, cwd=_ROOT, check=True, stdout=subprocess.DEVNULL, env=installed)


if __name__ == "__main__":
    main()
