"""Metrics for torchmetrics: equal to those in memory, over batches, processes and copies."""

import copy
import os
import pickle
import socket

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.metrics import METRICS

torch = pytest.importorskip("torch")
pytest.importorskip("torchmetrics", "1.6")

import torchmetrics
from torch import multiprocessing
from torch.testing import assert_close
from torchmetrics.functional.classification import (
    binary_auroc,
    binary_calibration_error,
    binary_eer,
    multiclass_accuracy,
    multiclass_auroc,
    multiclass_calibration_error,
)

from fastpsr.torchmetrics import TorchMetric

N = 1_200
MAKE = {
    "posteriors": fp.Predictions.from_posteriors,
    "logits": fp.Predictions.from_logits,
    "llrs": fp.Predictions.from_llrs,
    "scores": fp.Predictions.from_raw_scores,
}


def samples(n_classes=2, n=N, seed=0):
    """Labels, logits and weights, of which some are 0."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    z = 2.0 * (y if n_classes == 2 else np.eye(n_classes)[y]) + rng.normal(
        size=n if n_classes == 2 else (n, n_classes)
    )
    return y, z, rng.integers(0, 3, n).astype(float)


def as_input(z, kind):
    if kind != "posteriors":
        return z
    if z.ndim == 1:
        return 1.0 / (1.0 + np.exp(-z))
    return np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)


def updated(metric, arrays, batches):
    for rows in np.array_split(np.arange(len(arrays[0])), batches):
        y, x, *weights = (torch.from_numpy(np.ascontiguousarray(array[rows])) for array in arrays)
        metric.update(x, y, *weights)
    return metric


HOLD_OTHER_DATA = (fp.SemiEmpiricalScore, fp.MinADCF, fp.ActADCF)


@pytest.mark.parametrize("metric_class", METRICS, ids=lambda metric: metric.__name__)
def test_every_metric_is_that_in_memory(metric_class):
    for kind, n_classes in (("scores", 2), ("llrs", 2), ("posteriors", 3)):
        y, z, weights = samples(n_classes)
        x = as_input(z, kind)
        data = MAKE[kind](y, x, sample_weight=weights)
        for metric in metric_class.examples(data):
            try:
                expected = metric(data)
            except fp.ArgumentError:
                expected = None
            if expected is None or metric_class in HOLD_OTHER_DATA:
                with pytest.raises(fp.ArgumentError):
                    TorchMetric(metric, kind, num_classes=n_classes)
                continue
            batches = updated(TorchMetric(metric, kind, num_classes=n_classes), (y, x, weights), 5)
            assert batches.compute().dtype == torch.float64
            unit = 100.0 if metric.unit == "percent" else 1.0
            value = batches.compute().item()
            assert value == pytest.approx(expected, rel=1e-12, abs=1e-14 * unit)


def test_metrics_have_the_names_of_tables():
    assert TorchMetric("eer", "scores").metric.label == "EER"


ONE_PASS = [
    (fp.CrossEntropy(), "logits", {}),
    (fp.BrierScore(), "posteriors", {"priors": [0.1, 0.9]}),
    (fp.ExpectedScore(fp.rules.Beta(2, 1)), "logits", {}),
    (fp.BayesRisk(fp.CostMatrix.detection(1, 10)), "logits", {}),
    (fp.ECE(), "posteriors", {}),
    (fp.ECE(on="confidence"), "posteriors", {"num_classes": 10}),
    (fp.CrossEntropy(), "llrs", {"priors": [0.3, 0.7]}),
    (fp.Cllr(), "llrs", {}),
    (fp.ActDCF(0.01), "llrs", {}),
    (fp.ActDCF(0.01), "logits", {"priors": [0.5, 0.5]}),
]
ALL_SAMPLES = [
    (fp.EER(), "scores", {}),
    (fp.AUC(), "logits", {}),
    (fp.ECE(binning="quantile"), "logits", {}),
    (fp.CrossEntropy(), "llrs", {}),
    (fp.Cllr(), "logits", {}),
    (fp.CalibrationLoss(fp.rules.Log(), fp.PAV(floor=0.01)), "logits", {"priors": [0.5, 0.5]}),
]


@pytest.mark.parametrize(("metric", "kind", "options"), ONE_PASS)
def test_states_of_scores_risks_and_ece_are_of_constant_size(metric, kind, options):
    y, z, weights = samples(options.get("num_classes", 2))
    x = as_input(z, kind)
    batches = TorchMetric(metric, kind, **options)
    before = len(pickle.dumps(batches.metric_state))
    updated(batches, (y, x, weights), 40)
    assert not batches.keeps_samples
    assert len(pickle.dumps(batches.metric_state)) == before
    priors = {"priors": options["priors"]} if "priors" in options else {}
    if kind == "llrs" and priors:
        priors = {"prior": options["priors"][1]}
    expected = metric(MAKE[kind](y, x, sample_weight=weights, **priors))
    assert batches.compute().item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("metric", "kind", "options"), ALL_SAMPLES)
def test_what_needs_all_samples_says_so(metric, kind, options):
    y, z, _ = samples()
    adapter = updated(TorchMetric(metric, kind, **options), (y, z), 7)
    assert adapter.keeps_samples
    (state,) = adapter.metric_state.values()
    assert sum(part.nbytes for part in state) == 24 * N


@pytest.mark.parametrize("kind", ["posteriors", "logits"])
def test_one_class_against_the_rest(kind):
    y, z, weights = samples(3)
    x = as_input(z, kind)
    for class_ in (0, 2, "macro"):
        adapter = updated(TorchMetric(fp.AUC(class_), kind, num_classes=3), (y, x, weights), 5)
        assert adapter.keeps_samples
        expected = fp.AUC(class_)(MAKE[kind](y, x, sample_weight=weights))
        assert adapter.compute().item() == pytest.approx(expected, rel=1e-12)


def test_many_tiny_batches_lose_no_digits():
    adapter = TorchMetric(fp.BrierScore(normalized=False), "posteriors")
    x, y = torch.tensor([0.1, 0.9, 0.7], dtype=torch.float64), torch.tensor([1, 1, 0])
    adapter.update(x, y)
    once = adapter.compute().item()
    ((name, state),) = adapter.metric_state.items()
    add = adapter._reductions[name]  # by which update adds a batch
    total = state
    for _ in range(5_000):
        total = add(torch.stack([total, state]))
    setattr(adapter, name, total)
    adapter._computed = None
    assert adapter.compute().item() == pytest.approx(once, rel=1e-15)
    plain = float(np.add.accumulate(np.full(5_001, state[0, 1, 1].item()))[-1])
    assert abs(plain / 5_001 / state[0, 1, 1].item() - 1.0) > 1e-14  # or it would show nothing


@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_the_nearest_eer_is_that_of_torchmetrics(share):
    rng = np.random.default_rng(0)
    y = (rng.random(2_000) < share).astype(int)
    q = 1.0 / (1.0 + np.exp(-rng.normal(size=2_000) - y))  # untied
    x, target = torch.from_numpy(q), torch.from_numpy(y)
    adapter = TorchMetric(fp.EER("nearest"), "posteriors")
    adapter.update(x, target)
    smaller = min(y.sum(), (1 - y).sum())
    assert adapter.compute().item() == pytest.approx(
        binary_eer(x, target).item(), abs=1.0 / smaller
    )


# Input


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_types_of_tensors(dtype):
    y, z, _ = samples()
    z = torch.from_numpy(z).to(dtype)
    adapter = TorchMetric(fp.CrossEntropy(), "logits")
    adapter.update(z.requires_grad_(), torch.from_numpy(y == 1))
    data = fp.Predictions.from_logits(y, z.detach().double().numpy())
    assert adapter.compute().item() == pytest.approx(fp.CrossEntropy()(data), rel=1e-12)


@pytest.mark.parametrize("kind", ["posteriors", "logits"])
def test_two_columns_are_one(kind):
    y, z, _ = samples()
    x = as_input(z, kind)
    columns = np.column_stack([1.0 - x if kind == "posteriors" else np.zeros(N), x])
    for metric in (fp.BrierScore(), fp.EER(), fp.ECE(binning="quantile")):
        one = updated(TorchMetric(metric, kind), (y, x), 3)
        two = updated(TorchMetric(metric, kind), (y, columns), 3)
        assert one.compute().item() == pytest.approx(two.compute().item(), rel=1e-12)


def test_rows_of_float32_that_miss_a_sum_of_one_are_kept_as_they_are():
    y, z, _ = samples(100)
    x = torch.softmax(torch.from_numpy(z).float(), dim=1)
    metric = fp.ECE(on="confidence", binning="quantile")
    adapter = TorchMetric(metric, "posteriors", num_classes=100)
    adapter.update(x, torch.from_numpy(y))
    assert adapter.compute().item() == metric(fp.Predictions.from_posteriors(y, x.numpy()))


@pytest.mark.parametrize(
    ("metric", "kind", "options", "argument"),
    [
        (fp.EER(), "probs", {}, "input"),
        ("EERs", "scores", {}, "metric"),
        (fp.EER, "scores", {}, "metric"),
        (fp.CrossEntropy(), "scores", {}, None),
        (fp.EER(), "logits", {"num_classes": 3}, None),
        (fp.AUC(), "logits", {"num_classes": 3}, None),
        (fp.AUC(3), "logits", {"num_classes": 3}, "class_"),
        (fp.EER(), "llrs", {"num_classes": 3}, "num_classes"),
        (fp.ECE(), "logits", {"num_classes": 3}, None),
        (fp.EER(), "scores", {"priors": [0.5, 0.5]}, "priors"),
        (fp.ECE(), "logits", {"priors": [0.5, 0.6]}, "priors"),
    ],
)
def test_what_is_refused_at_once(metric, kind, options, argument):
    with pytest.raises(fp.ArgumentError) as caught:
        TorchMetric(metric, kind, **options)
    assert argument in (None, caught.value.argument)


@pytest.mark.parametrize(
    ("kind", "preds", "target", "name", "index"),
    [
        ("posteriors", [0.2, 1.2], [0, 1], "preds", 1),
        ("posteriors", [[0.2, 0.9]], [0], "preds", 0),
        ("logits", [0.2, float("nan")], [0, 1], "preds", 1),
        ("logits", [0.2, 0.3], [0, 2], "target", 1),
        ("logits", [0.2, 0.3], [0], "target", None),
        ("logits", [[0.2, 0.3, 0.1]], [0], "preds", None),
        ("scores", [[0.2, 0.3]], [0], "preds", None),
    ],
)
def test_what_is_refused_in_a_batch(kind, preds, target, name, index):
    metric = TorchMetric(fp.EER() if kind == "scores" else fp.CrossEntropy(), kind)
    with pytest.raises(fp.ArgumentError) as caught:
        metric.update(torch.tensor(preds), torch.tensor(target))
    assert (caught.value.name or caught.value.argument, caught.value.index) == (name, index)


@pytest.mark.filterwarnings("ignore:The ``compute`` method of metric")
@pytest.mark.parametrize("metric", [fp.CrossEntropy(), fp.EER()])
def test_no_samples_have_no_value(metric):
    adapter = TorchMetric(metric, "logits")
    adapter.update(torch.tensor([0.3]), torch.tensor([1]), torch.tensor([0.0]))
    adapter.update(torch.tensor([]), torch.tensor([]))
    for without_samples in (TorchMetric(metric, "logits"), adapter):
        with pytest.raises(fp.ArgumentError, match="must have been called with a sample"):
            without_samples.compute()


def test_an_infinite_loss_is_infinite_and_one_of_weight_zero_is_not():
    adapter = TorchMetric(fp.CrossEntropy(), "posteriors")
    x, y = torch.tensor([0.0, 0.2, 0.9]), torch.tensor([1, 0, 1])
    adapter.update(x, y, torch.tensor([0.0, 1.0, 1.0]))
    assert np.isfinite(adapter.compute().item())
    adapter.update(x, y)
    adapter.update(x, y)
    assert adapter.compute().item() == float("inf")


# What torchmetrics expects of a metric


@pytest.mark.parametrize(("metric", "kind", "options"), [*ONE_PASS[::4], *ALL_SAMPLES[::4]])
def test_life_of_a_metric(metric, kind, options):
    y, z, weights = samples(options.get("num_classes", 2))
    arrays = y, as_input(z, kind), weights
    whole = updated(TorchMetric(metric, kind, **options), arrays, 3)
    value = whole.compute()
    halves = [
        updated(TorchMetric(metric, kind, **options), [array[rows] for array in arrays], 2)
        for rows in (slice(0, N // 2), slice(N // 2, N))
    ]
    halves[1].merge_state(halves[0])  # what comes in comes first
    assert_close(halves[1].compute(), value, rtol=1e-12, atol=0)

    other = TorchMetric(metric, kind, **options)
    for rows in np.array_split(np.arange(N), 3):
        batch = [array[rows] for array in arrays]
        x, t, w = (torch.from_numpy(batch[k]) for k in (1, 0, 2))
        alone = updated(TorchMetric(metric, kind, **options), batch, 1)
        assert other(x, t, w) == alone.compute()
    assert_close(other.compute(), value, rtol=1e-12, atol=0)

    for again in (pickle.loads(pickle.dumps(whole)), copy.deepcopy(whole), whole.clone()):
        again.update(torch.from_numpy(arrays[1]), torch.from_numpy(y))
        assert again.compute() != value
    assert whole.to("cpu").compute() == value

    whole.persistent(True)
    saved = whole.state_dict()
    loaded = TorchMetric(metric, kind, **options)
    loaded.load_state_dict(saved)
    loaded._update_count = 1  # which torchmetrics does not save: else it warns
    assert_close(loaded.compute(), value, rtol=1e-15, atol=0)

    whole.half()  # torchmetrics guards states against it
    assert whole.compute() == value
    whole.reset()
    assert_close(updated(whole, arrays, 1).compute(), value, rtol=1e-12, atol=0)
    assert metric.label in repr(whole) or type(metric).__name__ in repr(whole)
    assert whole.higher_is_better is (type(metric) is fp.AUC)


@pytest.mark.filterwarnings("ignore:the logits all lie in")
def test_collections_share_states_only_of_what_is_the_same():
    y, z, _ = samples()
    zero_one, dear = fp.CostMatrix.zero_one(2), fp.CostMatrix([[0, 1], [1.5, 0]])
    each = {
        "nce": (fp.CrossEntropy(), "logits"),
        "ce": (fp.CrossEntropy(normalized=False), "logits"),
        "risk": (fp.BayesRisk(zero_one), "logits"),
        "dear": (fp.BayesRisk(dear), "logits"),
        "as posteriors": (fp.BayesRisk(zero_one), "posteriors"),
        "eer": (fp.EER(), "logits"),
        "auc": (fp.AUC(), "logits"),
    }
    clipped = np.clip(z, 0.01, 0.99)  # both logits and posteriors, as a test
    clipped[:4], y[:4] = 0.99, 1  # after which all risks have counted the same
    adapter = torchmetrics.MetricCollection({k: TorchMetric(*v) for k, v in each.items()})
    alone = {k: TorchMetric(*v) for k, v in each.items()}
    for metric in (adapter, *alone.values()):
        for rows in (slice(0, 4), slice(4, 600), slice(600, None)):
            metric.update(torch.from_numpy(clipped[rows]), torch.from_numpy(y[rows]))
    groups = sorted(sorted(group) for group in adapter.compute_groups.values())
    assert ["ce", "nce"] in groups
    assert ["auc", "eer"] in groups
    assert adapter.compute() == {name: metric.compute() for name, metric in alone.items()}


class Certain(fp.metrics.Metric):
    """A metric of one's own, without sums."""

    label = "certain"

    def summarize(self, predictions):
        return np.array([(predictions.positive_posteriors > 0.9).sum(), len(predictions)])

    def finish(self, summary):
        return summary[0] / summary[1]


def test_a_metric_of_ones_own():
    y, z, _ = samples()
    adapter = updated(TorchMetric(Certain(), "logits"), (y, z), 4)
    assert adapter.keeps_samples
    assert adapter.compute().item() == Certain()(fp.Predictions.from_logits(y, z))


# Processes


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def run_rank(rank, port, cases, arrays, splits, values):
    torch.set_num_threads(1)
    here = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    os.environ |= here
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    try:
        for shares in splits:
            rows = shares[rank]
            for metric, kind, options in cases:
                adapter = TorchMetric(metric, kind, **options)
                y, z, weights = arrays[options.get("num_classes", 2)]
                if len(rows):
                    updated(adapter, (y[rows], as_input(z, kind)[rows], weights[rows]), 3)
                else:  # it only takes part in what the other computes
                    adapter._update_count = 1
                before = copy.deepcopy(adapter.metric_state)
                values.put((rank, adapter.compute().item()))
                assert_close(adapter.metric_state, before, rtol=0, atol=0)  # its own again
    finally:
        torch.distributed.destroy_process_group()


def test_two_processes_are_one():
    cases = [*ONE_PASS[::3], *ALL_SAMPLES[::3]]
    arrays = {2: samples(), 10: samples(10)}
    splits = [np.split(np.arange(N), [end]) for end in (400, 0)]
    values = multiprocessing.get_context("spawn").SimpleQueue()
    multiprocessing.spawn(run_rank, (free_port(), cases, arrays, splits, values), nprocs=2)
    by_rank = {0: [], 1: []}
    while not values.empty():
        rank, value = values.get()
        by_rank[rank].append(value)
    expected = []
    for metric, kind, options in cases:
        y, z, weights = arrays[options.get("num_classes", 2)]
        one = updated(TorchMetric(metric, kind, **options), (y, as_input(z, kind), weights), 1)
        expected.append(one.compute().item())
    for rank in (0, 1):
        np.testing.assert_allclose(by_rank[rank], expected * len(splits), rtol=1e-12)


# What torchmetrics' tracker reports


def test_large_logits_are_not_tied():
    # issue 2819: a sigmoid of float32 is 1 for all of these
    preds = torch.tensor(
        [98.0950, 98.4612, 98.1145, 98.1506, 97.6037, 98.9425, 99.2644, 99.5014, 99.7280, 99.6595,
         99.6931, 99.4667, 99.9623, 99.8949, 99.8768]
    )  # fmt: skip
    target = torch.tensor([0] + [1] * 14)
    adapter = TorchMetric(fp.AUC(), "logits")
    adapter.update(preds, target)
    assert adapter.compute().item() == pytest.approx(13 / 14, rel=1e-15)
    assert binary_auroc(preds, target) == 0.5  # drop this test when it is repaired there


def test_logits_are_logits_in_every_batch():
    # issue 2195, with the reproducer of 2329: a sigmoid is taken only where a batch leaves 0 to 1
    preds, target = torch.tensor([-1.0, 0.0, 1.0]), torch.tensor([1, 0, 1])
    at_once, one_by_one = TorchMetric(fp.AUC(), "logits"), TorchMetric(fp.AUC(), "logits")
    theirs = torchmetrics.AUROC(task="binary")
    at_once.update(preds, target)
    for k in range(3):
        one_by_one.update(preds[k : k + 1], target[k : k + 1])
        theirs.update(preds[k : k + 1], target[k : k + 1])
    assert at_once.compute() == one_by_one.compute() == 0.5


def test_a_confidence_of_one_lies_in_the_last_bin():
    # issue 3510: both are in (14/15, 1], with mean posterior 0.975 and frequency 0.5
    preds, target = torch.tensor([0.95, 1.0]), torch.tensor([1, 0])
    adapter = TorchMetric(fp.ECE(), "posteriors")
    adapter.update(preds, target)
    assert adapter.compute().item() == pytest.approx(0.475, abs=1e-8)
    assert binary_calibration_error(preds, target, n_bins=15) > 0.5


# Functions


@pytest.mark.parametrize("digits", [1, 9])
def test_functions_of_two_classes(digits):
    rng = np.random.default_rng(digits)
    y = (rng.random(1_000) < 0.3).astype(int)
    q = np.round(1.0 / (1.0 + np.exp(-rng.normal(2.0 * y - 1.0, 1.5))), digits)
    x, target = torch.from_numpy(q), torch.from_numpy(y)
    assert binary_auroc(x, target).item() == pytest.approx(fp.AUC()(y, q), rel=1e-6)
    q = 0.9998 * q + 0.00005  # no posterior lies on an edge of a bin, nor is 1
    x = torch.from_numpy(q)
    for bins in (10, 15):
        for norm in (1, 2):
            theirs = binary_calibration_error(x, target, n_bins=bins, norm=f"l{norm}").item()
            assert theirs == pytest.approx(fp.ECE(bins, norm=norm)(y, q), rel=1e-10)
    # their bins are [low, high): those of the other class
    edges = np.round(rng.random(1_000) * 0.9, 2)
    theirs = binary_calibration_error(torch.from_numpy(edges), target, n_bins=4).item()
    assert theirs == pytest.approx(fp.ECE(4)(1 - y, 1.0 - edges), rel=1e-10)


def test_functions_of_several_classes():
    y, z, _ = samples(4)
    x, target = torch.from_numpy(z), torch.from_numpy(y)
    of_all = fp.Predictions.from_logits(y, z)
    balanced = fp.Predictions.from_logits(y, z, priors=np.full(4, 0.25))
    errors = fp.BayesRisk(fp.CostMatrix.zero_one(4), normalized=False)
    for data, average in ((of_all, "micro"), (balanced, "macro")):
        theirs = 1.0 - multiclass_accuracy(x, target, 4, average).item()
        assert theirs == pytest.approx(errors(data), rel=1e-5)
    theirs = multiclass_calibration_error(x, target, 4).item()
    assert theirs == pytest.approx(fp.ECE(on="confidence")(of_all), rel=1e-4)
    theirs = multiclass_auroc(x, target, 4, average=None).tolist()
    assert theirs == pytest.approx([fp.AUC(class_=k)(of_all) for k in range(4)], rel=1e-6)
    theirs = torch.nn.functional.cross_entropy(x, target).item()
    assert theirs == pytest.approx(fp.CrossEntropy(normalized=False)(of_all), rel=1e-12)
