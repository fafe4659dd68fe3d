"""The real systems of Tables 2 and 3 in Ferrer and Ramos (2024), in published folders."""

from collections.abc import Iterator
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


def labels(folder: Path, target: int | None = None) -> np.ndarray:
    """Read the classes; 1 for a target class and 0 for the rest, if there is one."""
    y = np.load(folder / "targets.npy").astype(int)
    return y if target is None else (y == target).astype(int)


def predictions(folder: Path, target: int | None = None) -> fp.Predictions | None:
    """Read the scores, None where there are none; for a target class, against the rest."""
    if not (folder / "scores.npy").is_file():
        return None
    data = fp.Predictions.from_logits(labels(folder), np.load(folder / "scores.npy"))
    if target is None:
        return data
    return fp.Predictions.from_posteriors(labels(folder, target), data.posteriors[:, target])


def systems(folder: Path) -> Iterator[tuple[str, fp.Predictions, fp.CrossFit]]:
    """Yield names, predictions and folds of the systems whose scores are there; name the others."""
    for dataset, system, name, target in SYSTEMS:
        data = predictions(folder / name, target)
        if data is None:
            print(f"{dataset} {system} skipped: no scores.npy in {name}")
            continue
        folds = np.empty(len(data), int)
        splitter = StratifiedKFold(n_splits=5, shuffle=True, random_state=0)
        for fold, (_, test) in enumerate(splitter.split(data.y_true, data.y_true)):
            folds[test] = fold
        yield f"{dataset} {system}", data, fp.CrossFit(folds=folds)
