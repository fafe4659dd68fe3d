"""The score calibration of wespeaker's recipes beside `LinearFusion`, on score files of the recipe.

    python -m benchmarks.studies.score_calibration cali.score vox.score utt2dur --markdown FILE

The first file is trained on, the second is scored; both have the columns of score normalization.
It needs torch. The procedure is that of wespeaker/bin/score_calibration.py: 13 columns, torch's
L-BFGS at a rate of 0.01, which is called up to 50 times, until a call gains less than 1e-4.
"""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fastpsr as fp
from benchmarks.harness import timed
from benchmarks.report import write_report

Floats = NDArray[np.float64]
_SPEAKER = "^[^/]+"  # of an id
_ENDS = [0, 1, 2, 5, 6, 9, 10]  # of the 13 columns: the score, and min and max of each measure
_LONGEST = 20.0  # seconds: longer recordings count as this
_RATE, _MOST_CALLS, _LEAST_GAIN = 0.01, 50, 1e-4


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.score_calibration", description=__doc__
    )
    parser.add_argument("train", type=Path, help="score file to train on")
    parser.add_argument("test", type=Path, help="score file to evaluate on")
    parser.add_argument("durations", type=Path, help="utt2dur of both")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="put the table in this page")
    given = parser.parse_args()
    text = compare(fp.trials.read(given.train), fp.trials.read(given.test), given.durations)
    print(text)
    if given.markdown:
        write_report(given.markdown, text)


def compare(train: fp.trials.TrialSet, test: fp.trials.TrialSet, durations: Path) -> str:
    """Return a table of both sides, and the difference with its interval, by speakers."""
    columns, others = columns_of(train, durations), columns_of(test, durations)
    y = np.asarray(train.y_true)
    fits: dict[str, Any] = {
        "recipe": recipe,
        "13 columns": ours,
        "min and max": partial(ours, chosen=_ENDS),
    }
    lines = [
        "| | Cllr, train | Cllr | minCllr | EER | minDCF(0.01) | time |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    metrics = (fp.Cllr(), fp.MinCllr(), fp.EER(), fp.MinDCF(0.01))
    fused = {}
    for name, fit in fits.items():
        fit(columns[::10], y[::10])  # imports, and compiles
        seconds, (scores_of, note) = timed(lambda fit=fit: fit(columns, y))
        trained = fp.Predictions.from_llrs(y, scores_of(columns))
        tested = fused[name] = fp.Predictions.from_llrs(test.y_true, scores_of(others))
        cllr, min_cllr, eer, min_dcf = (metric(tested) for metric in metrics)
        losses = f"{fp.Cllr()(trained):.4f} | {cllr:.4f} | {min_cllr:.4f}"
        rates = f"{100.0 * eer:.3f} % | {min_dcf:.4f}"
        lines.append(f"| {name}, {note} | {losses} | {rates} | {seconds.wall:.2f} s |")
    drawn = fp.TwoWay(*test.with_speakers(f"pattern:{_SPEAKER}").speakers)
    gains = fp.evaluate(
        fused, metrics, differences="first", n_resamples=1_000, resampling=drawn, seed=0
    )
    return "\n".join([*lines, "", "```text", *str(gains).splitlines()[1:], "```"])


def columns_of(trials: fp.trials.TrialSet, durations: Path) -> Floats:
    """Return the score, and four columns of each measure, shape (N, 13)."""
    seconds = trials.quality(durations, cap=_LONGEST)
    norms = [trials.column(f"norm_{k}") for k in (1, 2, 3, 4)]
    columns = [trials.score]
    for one, other in ((seconds.enroll, seconds.test), norms[:2], norms[2:]):
        low, high = np.minimum(one, other), np.maximum(one, other)
        columns += [low, high, high - low, high / low]
    return np.column_stack(columns)


def recipe(columns: Floats, y: NDArray[Any]) -> Any:
    """Fit as the recipe does; return the function of columns, and how long it took."""
    import torch

    targets, nontargets = (torch.from_numpy(columns[y == label]) for label in (1, 0))
    weights = torch.full((columns.shape[1],), 1.0 / columns.shape[1], dtype=torch.float64)
    bias = torch.zeros(1, dtype=torch.float64)
    parameters = [weights.requires_grad_(), bias.requires_grad_()]
    optimizer = torch.optim.LBFGS(parameters, lr=_RATE)

    def loss() -> Any:
        optimizer.zero_grad()
        misses = torch.log1p(torch.exp(-(targets @ weights + bias))).mean()
        alarms = torch.log1p(torch.exp(nontargets @ weights + bias)).mean()
        value = (misses + alarms) / (2.0 * np.log(2.0))
        value.backward()
        return value

    best, n_calls = np.inf, 0
    while n_calls < _MOST_CALLS:
        n_calls += 1
        value = float(optimizer.step(loss).detach())
        if best - value < _LEAST_GAIN:
            break
        best = value
    w, b = weights.detach().numpy(), bias.detach().numpy()
    return (lambda given: given @ w + b), f"{n_calls} calls"


def ours(columns: Floats, y: NDArray[Any], chosen: Any = slice(None)) -> Any:
    """Fit a fusion of the columns; return the function of columns, and the rank."""

    def systems(given: Floats, labels: Any = None) -> list[fp.Predictions]:
        return [fp.Predictions.from_raw_scores(labels, column) for column in given[:, chosen].T]

    fusion = fp.LinearFusion().fit(systems(columns, y))
    return (lambda given: fusion.transform(systems(given)).llrs), f"rank {fusion.rank_}"


if __name__ == "__main__":
    main()
