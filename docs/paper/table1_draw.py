"""Table 1 of Ferrer and Ramos (2024) on the draw of the paper: all 84 printed values come out.

    python docs/paper/table1_draw.py

The draw is of NumPy's legacy generator with seed 0, and so are the folds. An asterisk marks a value
that differs from the printed one. Below are these values if an empty bin of histogram binning gives
posterior 0 instead of its center, and how much values vary between other draws.
"""

import numpy as np
from sklearn.model_selection import StratifiedKFold
from synthetic import simulated
from table1 import PRINTED, SIZES, SYSTEMS, differences

import fastpsr as fp

Draw = tuple[dict[str, fp.Predictions], dict[tuple[str, str], np.ndarray]]


def paper_draw(n: int) -> Draw:
    """Return the systems, and the folds by calibrator and system."""
    rng = np.random.RandomState(0)
    systems = simulated(n, rng=rng)
    y = systems["cal"].y_true
    splitter = StratifiedKFold(5, shuffle=True, random_state=rng)
    folds = {}
    for system in ("cal", "mcp", "unprinted", "unprinted", "mcs", "mcps"):
        for calibrator in "DTH":
            folds[calibrator, system] = ids = np.empty(y.size, int)
            for fold, (_, test) in enumerate(splitter.split(y, y)):
                ids[test] = fold
    return systems, folds


def difference(data: fp.Predictions, reference: fp.Predictions) -> float:
    """Return (CE_e - CE_se) / CE_e in percent, of normalized cross-entropies."""
    semi = fp.SemiEmpiricalScore(fp.rules.Log(), reference)(data)
    return 100 * (1 - semi / fp.CrossEntropy()(data))


def print_empty_bins(data: fp.Predictions, fold: np.ndarray, system: str) -> None:
    """Print the values of cross-fitted histogram binning with two posteriors of empty bins."""
    bins = np.digitize(data.posteriors[:, 1], np.arange(1, 15) / 15, right=True)
    centers, zeros, n_empty = np.empty(len(data)), np.empty(len(data)), 0
    for held_out in range(5):
        train, test = fold != held_out, fold == held_out
        filled = np.isin(np.arange(15), bins[train])
        posterior = fp.HistogramBinning().fit(data[train]).posterior_
        centers[test] = posterior[bins[test]]
        zeros[test] = np.where(filled, posterior, 0.0)[bins[test]]
        n_empty += int((~filled[bins[test]]).sum())
    line = f"{system:<5}{n_empty} samples in empty bins"
    for name, posteriors in (("centers", centers), ("zeros", zeros)):
        value = difference(data, fp.Predictions.from_posteriors(None, posteriors))
        line += f"; {name}: {value:.1f}, mean reference {posteriors.mean():.3f}"
    print(line)


def main() -> None:
    draws = {n: paper_draw(n) for n in SIZES}
    values = {n: differences(*draws[n], normalized=True) for n in SIZES}
    for row, printed in PRINTED.items():
        here = [round(values[n][row, system]) for system in SYSTEMS for n in SIZES]
        marks = [f"{a:>6}{' ' if a == b else '*'}" for a, b in zip(here, printed, strict=True)]
        print((f"{row:<4}" + "".join(marks)).rstrip())
    systems, folds = draws[200]
    for system in ("cal", "mcs", "mcps"):
        print_empty_bins(systems[system], folds["H", system], system)
    entropy = fp.rules.Log().entropy
    for counts in ([160, 40], [160, 39]):
        ratio = entropy(np.divide(counts, sum(counts))) / np.log(2)
        print(f"T of mcp with class counts {counts}: {100 * (1 - ratio):.2f}")
    others = []
    for seed in range(400):
        made = fp.simulate.gaussian_classes(2_000, seed=seed)
        data = fp.Predictions.from_logits(made.y_true, made.mcp)
        others.append(difference(data, fp.cross_fit(fp.HistogramBinning(), data, fp.TrainOnTest())))
    spread = f"mean {np.mean(others):.1f}, standard deviation {np.std(others):.1f}"
    print(f"Htt of mcp at N = 2,000, 400 draws: {spread}, lowest {min(others):.1f}")


if __name__ == "__main__":
    main()
