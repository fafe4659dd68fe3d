"""Table 2 of the paper from the published scores.

    python docs/paper/table2.py --data DIR [--json FILE] [--reference FILE]

DIR holds the folders of the paper's repository (notebooks/data), each with scores.npy and
targets.npy. Rows whose scores are missing are named and skipped. --reference compares with a
file of the layout that --json writes.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold

import fastpsr as fp

# dataset, system, folder, and for one-against-the-rest tasks the class that is the target
SYSTEMS = [
    ("SST2", "GPT2-4sh", "sst2_gpt2_4shot", None),
    ("SST2", "GPT2-0sh", "sst2_gpt2", None),
    ("SITW", "XvPLDA", "sitw_plda", None),
    ("FVCAUS", "XvPLDA", "fvcaus_plda", None),
    ("CIFAR-1vsO", "Resnet-20", "cifar100_resnet-20", 1),
    ("CIFAR-2vsO", "Resnet-20", "cifar100_resnet-20", 2),
    ("IEMOCAP", "W2V2", "iemocap_wav2vec_pt", None),
    ("AGNEWS", "GPT2-0sh", "agnews_gpt2", None),
    ("CIFAR10", "Resnet-20", "cifar10_resnet-20", None),
    ("CIFAR10", "Vgg19", "cifar10_vgg19_bn", None),
    ("CIFAR10", "RepVgg-a2", "cifar10_repvgg_a2", None),
    ("CIFAR100", "Resnet-20", "cifar100_resnet-20", None),
    ("CIFAR100", "Vgg19", "cifar100_vgg19_bn", None),
    ("CIFAR100", "RepVgg-a2", "cifar100_repvgg_a2", None),
]
Table = dict[str, dict[str, float]]
COLUMNS = ["C01", "Cab", "Cimb", "NCE", "NBS", "RCL", "ECEmc", "ECE"]


def read(folder: Path, target: int | None) -> fp.Predictions:
    """Read one system's scores; for a target class, against the rest."""
    scores, labels = np.load(folder / "scores.npy"), np.load(folder / "targets.npy")
    if target is None:
        return fp.Predictions.from_logits(labels, scores)
    posterior = fp.Predictions.from_logits(labels, scores).posteriors[:, target]
    return fp.Predictions.from_posteriors(labels == target, posterior)


def variants(raw: fp.Predictions, train: fp.CrossFit) -> dict[str, fp.Predictions]:
    """Return the raw posteriors and their calibrated versions."""
    made = {"raw": raw, "cal": fp.cross_fit(fp.DirectionPreserving(), raw, train)}
    if raw.n_classes == 2:
        made["calp"] = fp.cross_fit(fp.PAV(floor=1e-30), raw, fp.TrainOnTest())
    return made


def measure(predictions: fp.Predictions, train: fp.CrossFit) -> dict[str, float]:
    """Return one row of the table; RCL and calibration errors in percent."""
    k = predictions.n_classes
    imbalanced = fp.CostMatrix.zero_one(k).values.copy()
    imbalanced[-1, :-1] = 10.0
    loss = fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving(), train)
    row = {
        "C01": fp.BayesRisk(fp.CostMatrix.zero_one(k))(predictions),
        "Cab": fp.BayesRisk(fp.CostMatrix.zero_one(k, reject=0.1))(predictions),
        "Cimb": fp.BayesRisk(imbalanced)(predictions),
        "NCE": fp.CrossEntropy()(predictions),
        "NBS": fp.BrierScore()(predictions),
        "RCL": loss(predictions),
        "ECEmc": 100 * fp.ECE(on="confidence")(predictions),
    }
    if k == 2:
        row["ECE"] = 100 * fp.ECE()(predictions)
    return row


def print_deviations(rows: Table, reference: Table) -> None:
    """Print the largest deviation of each column from another run, and where it is."""
    print(f"\n{'column':<8}{'deviation':>10}{'here':>10}{'reference':>11}  rows  largest in")
    for column in COLUMNS:
        pairs = [
            (row[column], reference[name][column], name)
            for name, row in rows.items()
            if column in row and column in reference.get(name, {})
        ]
        if pairs:
            here, there, name = max(pairs, key=lambda pair: abs(pair[0] - pair[1]))
            figures = f"{here - there:>+10.5f}{here:>10.5f}{there:>11.5f}{len(pairs):>6}"
            print(f"{column:<8}{figures}  {name}")
    for name in sorted(rows.keys() ^ reference.keys()):
        print(f"not compared, in one only: {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Table 2 of the paper from the published scores.")
    parser.add_argument("--data", type=Path, required=True, help="folder of the systems' folders")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--reference", type=Path, help="compare with the figures in this file")
    options = parser.parse_args()
    rows: Table = {}
    print(f"{'Dataset':<11}{'System':<11}{'proc':<6}" + "".join(f"{c:>8}" for c in COLUMNS))
    for dataset, system, folder, target in SYSTEMS:
        path = options.data / folder
        if not (path / "scores.npy").is_file():
            print(f"{dataset:<11}{system:<11}skipped: no scores.npy in {folder}")
            continue
        raw = read(path, target)
        folds = np.empty(len(raw), int)
        splitter = StratifiedKFold(n_splits=5, shuffle=True, random_state=0)
        for fold, (_, test) in enumerate(splitter.split(raw.y_true, raw.y_true)):
            folds[test] = fold
        train = fp.CrossFit(folds=folds)
        for proc, predictions in variants(raw, train).items():
            row = rows[f"{dataset} {system}|{proc}"] = measure(predictions, train)
            cells = (f"{row[c]:>8.3f}" if c in row else f"{'-':>8}" for c in COLUMNS)
            print(f"{dataset:<11}{system:<11}{proc:<6}" + "".join(cells))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if options.reference:
        print_deviations(rows, json.loads(options.reference.read_text()))


if __name__ == "__main__":
    main()
