"""Table 2 of Ferrer and Ramos (2024): real systems, raw and calibrated, from the published scores.

    python docs/paper/table2.py --data DIR [--out DIR] [--json FILE]

DIR holds the folders of the paper's repository (notebooks/data), each with scores.npy and
targets.npy. An asterisk marks a value that does not agree with the paper's to its last digit; the
paper's values are then below the row. NBS is not in the paper's table. Drawn is NCE.
"""

import json
from pathlib import Path

import common
import datasets
from matplotlib.figure import Figure

import fastpsr as fp

PRINTED = json.loads((Path(__file__).parent / "table2_printed.json").read_text())
DIGITS = {"C01": 3, "Cab": 3, "Cimb": 3, "NCE": 3, "NBS": 3, "RCL": 1, "ECEmc": 1, "ECE": 1}


def variants(raw: fp.Predictions, train: fp.CrossFit) -> dict[str, fp.Predictions]:
    """Return the raw posteriors and their calibrated versions."""
    made = {"raw": raw, "cal": fp.cross_fit(fp.DirectionPreserving(), raw, train)}
    if raw.n_classes == 2:
        made["calp"] = fp.cross_fit(fp.PAV(floor=1e-30), raw, fp.TrainOnTest())
    return made


def measure(data: fp.Predictions, train: fp.CrossFit) -> dict[str, float]:
    """Return one row of the table; RCL and calibration errors in percent."""
    k = data.n_classes
    imbalanced = fp.CostMatrix.zero_one(k).values.copy()
    imbalanced[-1, :-1] = 10.0
    row = {
        "C01": fp.BayesRisk(fp.CostMatrix.zero_one(k))(data),
        "Cab": fp.BayesRisk(fp.CostMatrix.zero_one(k, reject=0.1))(data),
        "Cimb": fp.BayesRisk(imbalanced)(data),
        "NCE": fp.CrossEntropy()(data),
        "NBS": fp.BrierScore()(data),
        "RCL": fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), train)(data),
        "ECEmc": 100 * fp.ECE(on="confidence")(data),
    }
    return row if k > 2 else {**row, "ECE": 100 * fp.ECE()(data)}


def compare(name: str, row: dict[str, float]) -> int:
    """Print a row, with the paper's below if they differ; return how many of its values agree."""
    found = {
        column: float(f"{row[column]:.{DIGITS[column]}f}") == printed
        for column, printed in PRINTED[name].items()
        if column in row
    }
    here = [f"{row[c]:.3f}" + "*" * (not found.get(c, True)) if c in row else "-" for c in DIGITS]
    paper = [f"{PRINTED[name][c]:.{d}f}" if c in PRINTED[name] else "-" for c, d in DIGITS.items()]
    lines = [(name.replace("|", " "), here), ("  paper", paper)]
    for who, cells in lines[:1] if all(found.values()) else lines:
        print((f"{who:<27}" + "".join(f"{cell:<8}" for cell in cells)).rstrip())
    return sum(found.values())


def main() -> None:
    options = common.parser(__doc__, data=True).parse_args()
    rows, hits, bars = {}, 0, {"raw": {}, "cal": {}, "calp": {}}
    print(f"{'':<27}" + "".join(f"{column:<8}" for column in DIGITS).rstrip())
    for system, raw, train in datasets.systems(options.data):
        for proc, data in variants(raw, train).items():
            name = f"{system}|{proc}"
            rows[name] = measure(data, train)
            bars[proc][system] = rows[name]["NCE"]
            hits += compare(name, rows[name])
    print(f"{hits} of {sum(len(PRINTED[name]) for name in rows)} printed values come out")
    figure = Figure(figsize=(11, 5), layout="constrained")
    fp.plotting.metric_bars(bars, reference=1.0, ax=figure.subplots()).set_ylabel("NCE")
    common.write(options, "table2", rows, figure)


if __name__ == "__main__":
    main()
