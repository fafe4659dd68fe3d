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

from fastpsr.torchmetrics import TorchMetric
from tests.refusal import refuses

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


def test_many_tiny_batches_lose_no_digits():
    metric, squares = fp.BrierScore(normalized=False), [0.81, 0.01, 0.49]
    adapter = TorchMetric(metric, "posteriors")
    x, y = torch.tensor([0.1, 0.9, 0.7], dtype=torch.float64), torch.tensor([1, 1, 0])
    for _ in range(5_000):
        adapter.update(x, y)
    assert adapter.compute().item() == pytest.approx(sum(squares) / 3.0, rel=1e-15)


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
    with refuses(name, index=index):
        metric.update(torch.tensor(preds), torch.tensor(target))


IGNORED = -100


@pytest.mark.parametrize("n_classes", [2, 4])
def test_ignored_targets_are_left_out_as_by_torchmetrics(n_classes):
    y, z, weights = samples(n_classes)
    q = as_input(z, "posteriors")
    labels = np.where(np.arange(N) % 5 == 0, IGNORED, y)
    options = {} if n_classes == 2 else {"num_classes": n_classes}
    task = "Binary" if n_classes == 2 else "Multiclass"
    theirs = {
        kind: getattr(torchmetrics.classification, task + kind)(**options, ignore_index=IGNORED)
        for kind in ("AUROC", "AveragePrecision", "CalibrationError")
    }
    on = "class" if n_classes == 2 else "confidence"
    class_ = None if n_classes == 2 else "macro"
    ours = {
        "AUROC": fp.AUC(class_), "AveragePrecision": fp.AveragePrecision(class_),
        "CalibrationError": fp.ECE(15, on),
    }  # fmt: skip
    for kind, metric in ours.items():
        adapter = TorchMetric(metric, "posteriors", ignore_index=IGNORED, **options)
        value = updated(adapter, (labels, q), 6).compute()
        expected = updated(theirs[kind], (labels, q), 6).compute()
        assert value.item() == pytest.approx(expected.item(), abs=2e-6)  # theirs in float32
        keep = labels != IGNORED
        weighted = TorchMetric(metric, "posteriors", ignore_index=IGNORED, **options)
        data = fp.Predictions.from_posteriors(y[keep], q[keep], sample_weight=weights[keep])
        value = updated(weighted, (labels, q, weights), 3).compute()
        assert value.item() == pytest.approx(metric(data), rel=1e-12)


def test_ignored_targets_may_have_any_predictions():
    adapter = TorchMetric(fp.BrierScore(), "posteriors", ignore_index=255)
    adapter.update(torch.tensor([float("nan"), 0.2, 0.7]), torch.tensor([255, 0, 1]))
    adapter.update(torch.tensor([0.3]), torch.tensor([255]))
    assert adapter.compute().item() == fp.BrierScore()([0, 1], torch.tensor([0.2, 0.7]))
    for target in ([0, 300, 1], [255, 0]):
        with pytest.raises(fp.ArgumentError):
            adapter.update(torch.tensor([0.1, 0.2, 0.7]), torch.tensor(target))
    TorchMetric(fp.AUC("weighted"), "posteriors", num_classes=3, ignore_index=np.int64(-1))
    with refuses("ignore_index"):
        TorchMetric(fp.EER(), "scores", ignore_index="none")
    both = torchmetrics.MetricCollection(
        {str(index): TorchMetric(fp.EER(), "scores", ignore_index=index) for index in (None, 255)}
    )
    both.update(torch.tensor([0.1, 0.4, 0.3]), torch.tensor([0, 1, 1]))
    assert len(both.compute_groups) == 2


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


def test_plots_have_the_range_of_the_metric():
    bounded, unbounded = TorchMetric(fp.AUC(), "logits"), TorchMetric(fp.DevPAV(), "llrs")
    assert (bounded.plot_lower_bound, bounded.plot_upper_bound) == (0.0, 1.0)
    assert (unbounded.plot_lower_bound, unbounded.plot_upper_bound) == (0.0, None)
    pytest.importorskip("matplotlib").use("Agg")
    bounded.update(torch.tensor([0.3, 0.2, 0.5]), torch.tensor([1, 0, 1]))
    _, ax = bounded.plot()
    assert ax.get_ylabel() == "AUC"


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
