"""Table 1 of Ferrer and Ramos (2024): cross-entropy under labels and under reference posteriors.

    python docs/paper/table1.py [--seeds 20] [--nats] [--out DIR] [--json FILE]

Beside each value of the paper: mean, lowest and highest over simulations with seeds 0, 1, ...
An asterisk marks printed values outside that range. Cross-entropies are normalized, as they turn
out to be in the paper; --nats leaves them as they are. Drawn are the means for the largest size.
"""

import common
import numpy as np
import synthetic
from matplotlib.figure import Figure

import fastpsr as fp

SIZES, SYSTEMS = [200, 2_000, 20_000], synthetic.SYSTEMS
PRINTED = {  # of cal for all sizes, then of mcs, ...
    "true": [-3, -5, -2, -7, -10, -5, 4, -2, 0, 4, -2, 0],
    "Dtt": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    "Dxv": [1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0],
    "Ttt": [1, -1, 0, 1, -1, 0, 29, 28, 28, 29, 28, 28],
    "Txv": [1, -1, 0, 2, -1, 0, 29, 28, 28, 29, 28, 28],
    "Htt": [-6, -8, -9, -153, -143, -132, -19, -21, -17, -62, -84, -82],
    "Hxv": [-2, -8, -9, -171, -144, -132, -15, -21, -17, -62, -83, -82],
}
MAPS = {"D": fp.DirectionPreserving(), "T": fp.TemperatureScaling(), "H": fp.HistogramBinning()}


def differences(
    systems: dict[str, fp.Predictions], folds: dict[tuple[str, str], np.ndarray], normalized: bool
) -> dict[tuple[str, str], float]:
    """Return (CE_e - CE_se) / CE_e in percent by row and system; `folds`, by map and system."""
    found = {}
    for row in PRINTED:
        for name, data in systems.items():
            reference = systems["cal"]
            if row != "true":
                xv = fp.CrossFit(folds=folds.get((row[0], name), 5))
                train = fp.TrainOnTest() if row.endswith("tt") else xv
                reference = fp.cross_fit(MAPS[row[0]], data, train)
            semi = fp.SemiEmpiricalScore(fp.rules.Log(), reference, normalized)(data)
            empirical = fp.CrossEntropy(normalized)(data)
            found[row, name] = 100 * (empirical - semi) / empirical
    return found


def main() -> None:
    parser = common.parser(__doc__, seeds=20)
    parser.add_argument("--nats", action="store_true", help="do not normalize cross-entropies")
    options = parser.parse_args()
    table: dict[str, list[float]] = {}
    for n in SIZES:
        for seed in range(options.seeds):
            systems = synthetic.simulated(n, seed)
            for (row, name), value in differences(systems, {}, not options.nats).items():
                table.setdefault(f"{name}|{row}|{n}", []).append(value)
    for s, name in enumerate(SYSTEMS):
        header = "".join(f"N = {n:<8,} {'mean':>4}  {'range':<17}" for n in SIZES)
        print(f"{name:<6}{header}".rstrip())
        for row, printed in PRINTED.items():
            line = f"{row:<6}"
            for n, paper in zip(SIZES, printed[3 * s : 3 * s + 3], strict=True):
                values = table[f"{name}|{row}|{n}"]
                mark = " " if round(min(values)) <= paper <= round(max(values)) else "*"
                mean, low, high = np.round([np.mean(values), min(values), max(values)], 1) + 0.0
                line += f"{paper:>5}{mark}  {mean:>8.1f}  {f'{low:.1f} to {high:.1f}':<17}"
            print(line.rstrip())
    means = {s: {r: np.mean(table[f"{s}|{r}|{SIZES[-1]}"]) for r in PRINTED} for s in SYSTEMS}
    figure = Figure(layout="constrained")
    fp.plotting.metric_bars(means, ax=figure.subplots()).set_ylabel("Percent, largest size")
    common.write(options, "table1", table, figure)


if __name__ == "__main__":
    main()
