"""Trial lists as text, beside polars and beside a plain loop.

Lists have ids as VoxCeleb's, in random order. A key and scores are read and joined, while polars
only reads the columns of both files. End to end, an EER is computed of a file of scores with
labels: by fastpsr, and wespeaker's way, in a loop over its lines; in a process at work, and in
processes of their own, `fastpsr evaluate` and a script that imports nothing but NumPy.
"""

import inspect
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import fastpsr as fp
from benchmarks.harness import Case, Promise, run

_IDS = 150_000


@dataclass(frozen=True)
class Lists:
    """Files of one list: the key, scores in its order, in another, and with labels."""

    key: Path
    scores: Path
    shuffled: Path
    labeled: Path


@dataclass(frozen=True)
class ListSize:
    """How many trials the files have."""

    n_trials: int

    def __str__(self) -> str:
        return f"{self.n_trials:,} trials"

    def make(self) -> Lists:
        return _written(self.n_trials)[1]

    def quick(self) -> "ListSize":
        return ListSize(1_000)


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


@lru_cache(maxsize=2)
def _written(n_trials: int) -> tuple[Any, Lists]:
    """Return a folder that vanishes with the process, and the lists in it."""
    folder = TemporaryDirectory()
    return folder, write_lists(Path(folder.name), n_trials)


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


def same_lists(lists: Lists, ours: fp.trials.TrialSet, peer: Any) -> None:
    """Both read the same ids, labels and scores."""
    key, scores = peer
    assert ours.ids[0].series().equals(key["enroll"], check_names=False)
    assert ours.ids[1].series().equals(key["test"], check_names=False)
    assert (ours.score == scores["last"].to_numpy()).all()
    assert (ours.y_true == (key["last"] == "target").to_numpy()).all()


def same_eer(lists: Lists, ours: float, peer: float) -> None:
    """The loop takes a step of the ROC, fastpsr a point on its hull."""
    assert abs(ours - peer) < 50.0 / len(fp.trials.read(lists.labeled).score)


def our_eer(lists: Lists) -> float:
    return fp.EER()(fp.trials.read(lists.labeled).predictions("raw"))


def our_process(lists: Lists) -> None:
    arguments = ("--scores", lists.labeled, "--scores-are", "raw", "--metrics", "eer")
    run("-m", "fastpsr", "evaluate", *arguments)


def loop_process(lists: Lists) -> None:
    """Run the loop as a program that imports nothing but NumPy."""
    head = "import sys\nfrom pathlib import Path\nimport numpy as np\n"
    source = f"{head}{inspect.getsource(loop_over_lines)}print(loop_over_lines(Path(sys.argv[1])))"
    run("-c", source, lists.labeled)


_MILLION, _TEN_MILLION = ListSize(1_000_000), ListSize(10_000_000)
_IMPORTS = "imports of Numba, polars and typer"
_READING = "reading by polars, piece by piece, and comparing ids"
CASES = [
    Case("text to an EER", _MILLION, our_eer, lambda lists: loop_over_lines(lists.labeled),
         same_eer, promise=Promise(1, "x the time")),
    Case("text to an EER, as processes", _MILLION, our_process, loop_process,
         promise=Promise(1, "x the time", _IMPORTS)),
    Case("text read and joined, in one order", _TEN_MILLION,
         lambda lists: fp.trials.read(lists.key, lists.scores), read_by_polars, same_lists,
         ("polars",), Promise(1.5, "x the time", _READING)),
    Case("text read and joined, in another order", _TEN_MILLION,
         lambda lists: fp.trials.read(lists.key, lists.shuffled), read_by_polars, same_lists,
         ("polars",), Promise(4.5, "x the time", _READING)),
]  # fmt: skip
