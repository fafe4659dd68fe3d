"""The raw systems of the paper's Table 2, where FASTPSR_DATA names the folder that holds them."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import fastpsr as fp

FOLDER = os.environ.get("FASTPSR_DATA")
pytestmark = pytest.mark.skipif(not FOLDER, reason="FASTPSR_DATA is not set")

# Rows of the table: folder, and the class that is told from the rest, if one is.
SYSTEMS = {
    "SST2 GPT2-4sh": ("sst2_gpt2_4shot", None),
    "SST2 GPT2-0sh": ("sst2_gpt2", None),
    "FVCAUS XvPLDA": ("fvcaus_plda", None),
    "CIFAR-1vsO Resnet-20": ("cifar100_resnet-20", 1),
    "CIFAR-2vsO Resnet-20": ("cifar100_resnet-20", 2),
    "IEMOCAP W2V2": ("iemocap_wav2vec_pt", None),
    "AGNEWS GPT2-0sh": ("agnews_gpt2", None),
    "CIFAR10 Resnet-20": ("cifar10_resnet-20", None),
    "CIFAR10 Vgg19": ("cifar10_vgg19_bn", None),
    "CIFAR10 RepVgg-a2": ("cifar10_repvgg_a2", None),
    "CIFAR100 Resnet-20": ("cifar100_resnet-20", None),
    "CIFAR100 Vgg19": ("cifar100_vgg19_bn", None),
    "CIFAR100 RepVgg-a2": ("cifar100_repvgg_a2", None),
}


def read(name):
    """Predictions of a row of the table, and what the paper's code says of them."""
    reference = json.loads((Path(FOLDER) / "table2_reference.json").read_text())
    folder, target = SYSTEMS[name]
    scores = np.load(Path(FOLDER) / folder / "scores.npy")
    y = np.load(Path(FOLDER) / folder / "targets.npy")
    if target is None:
        return fp.Predictions.from_logits(y, scores), reference[f"{name}|raw"]
    z = scores.astype(np.float64)  # one class against the rest: log-odds of its posterior
    log_rest = np.logaddexp.reduce(np.delete(z, target, axis=1), axis=1)
    binary = fp.Predictions.from_logits(y == target, z[:, target] - log_rest)
    return binary, reference[f"{name}|raw"]


def metrics_of(n_classes):
    imbalanced = 1.0 - np.eye(n_classes)
    imbalanced[-1] *= 10.0
    return {
        "NCE": fp.CrossEntropy(),
        "NBS": fp.BrierScore(),
        "C01": fp.BayesRisk(fp.CostMatrix.zero_one(n_classes)),
        "Cab": fp.BayesRisk(fp.CostMatrix.zero_one(n_classes, reject=0.1)),
        "Cimb": fp.BayesRisk(fp.CostMatrix(imbalanced)),
    }


@pytest.mark.parametrize("name", SYSTEMS)
def test_table_2(name):
    predictions, expected = read(name)
    values = {k: metric(predictions) for k, metric in metrics_of(predictions.n_classes).items()}
    assert values == pytest.approx({k: expected[k] for k in values}, abs=0.0005)

    errors = {"ECEmc": fp.ECE(on="confidence")}
    if predictions.n_classes == 2:
        errors["ECE"] = fp.ECE()
    percents = {k: 100 * metric(predictions) for k, metric in errors.items()}
    assert percents == pytest.approx({k: expected[k] for k in errors}, abs=0.05)
    assert set(errors) == set(expected) & {"ECE", "ECEmc"}
