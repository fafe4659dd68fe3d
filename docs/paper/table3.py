"""Table 3 of Ferrer and Ramos (2024): classes, samples and priors of the real datasets.

    python docs/paper/table3.py --data DIR [--out DIR] [--json FILE]

Only labels are read: targets.npy in the folders that table2.py reads. The drawing has the priors of
the tasks with few classes.
"""

import common
import datasets
import numpy as np
from matplotlib.figure import Figure

import fastpsr as fp

PRINTED = {
    "SST2": "2, 1821, 0.50 0.50",
    "SITW": "2, 721788, 0.99 0.01",
    "FVCAUS": "2, 114072, 0.98 0.02",
    "CIFAR-1vsO": "2, 10000, 0.99 0.01",
    "CIFAR-2vsO": "2, 10000, 0.99 0.01",
    "IEMOCAP": "4, 5473, 0.20 0.29 0.31 0.20",
    "AGNEWS": "4, 7600, 0.25 0.25 0.25 0.25",
    "CIFAR10": "10, 10000, 0.10 for all classes",
    "CIFAR100": "100, 10000, 0.01 for all classes",
}


def main() -> None:
    options = common.parser(__doc__, data=True).parse_args()
    numbers = {}
    print(f"{'':<12}{'here':<36}paper")
    for dataset, _, folder, target in datasets.SYSTEMS:
        if dataset in numbers:
            continue
        counts = np.bincount(datasets.labels(options.data / folder, target))
        priors = [f"{count / counts.sum():.2f}" for count in counts]
        same = f"{priors[0]} for all classes"
        said = same if counts.min() == counts.max() and counts.size > 4 else " ".join(priors)
        here = f"{counts.size}, {counts.sum()}, {said}"
        mark = "" if here == PRINTED[dataset] else "*"
        print(f"{dataset:<12}{here + mark:<36}{PRINTED[dataset]}")
        numbers[dataset] = {"counts": counts.tolist(), "priors": (counts / counts.sum()).tolist()}
    few = {name: row["priors"] for name, row in numbers.items() if len(row["priors"]) <= 4}
    bars = {
        f"class {k + 1}": {name: priors[k] for name, priors in few.items() if k < len(priors)}
        for k in range(4)
    }
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    fp.plotting.metric_bars(bars, ax=figure.subplots()).set_ylabel("Prior")
    common.write(options, "table3", numbers, figure)


if __name__ == "__main__":
    main()
