"""`fastpsr.compat.speechbrain` against speechbrain itself."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
speechbrain = pytest.importorskip("speechbrain.utils.metric_stats")

import fastpsr as fp
from fastpsr.compat.speechbrain import EER, minDCF

SINGLE = 2e-7  # rounding of rates in single precision


def tensors(seed, n_targets, n_nontargets, digits=None):
    rng = np.random.default_rng(seed)
    scores = rng.normal(1.0, 1.0, n_targets), rng.normal(-0.5, 1.0, n_nontargets)
    scores = scores if digits is None else tuple(np.round(each, digits) for each in scores)
    return tuple(torch.tensor(each, dtype=torch.float32) for each in scores)


def with_infinities(positive, negative):
    for each in (positive, negative):
        each[:4] = torch.tensor([np.inf, -np.inf, -np.inf, np.inf])
    return positive, negative


LISTS = [tensors(0, 40, 151), tensors(1, 301, 200), tensors(2, 7, 1_500), tensors(3, 90, 401, 1)]
LISTS.append(with_infinities(*tensors(4, 30, 80)))
NAMES = ["untied", "more targets", "few targets", "tied", "infinite"]


@pytest.mark.parametrize("scores", LISTS, ids=NAMES)
def test_equal_error_rates(scores):
    value, threshold = EER(*scores)
    expected = speechbrain.EER(*scores)
    assert value == pytest.approx(expected[0], abs=SINGLE)
    assert threshold == expected[1]


@pytest.mark.parametrize("scores", LISTS, ids=NAMES)
@pytest.mark.parametrize("costs", [{}, {"p_target": 0.5}, {"c_miss": 10.0, "p_target": 0.05}])
def test_detection_costs(scores, costs):
    value, threshold = minDCF(*scores, **costs)
    cost, middle = speechbrain.minDCF(*scores, **costs)
    assert value == pytest.approx(cost, abs=10.0 * SINGLE)
    every = torch.cat(scores).unique()
    above = every[every > threshold]
    # a middle between two scores accepts what the lower one does
    assert threshold <= middle
    assert not len(above) or middle < above[0].item()
    # the metric may also accept all trials
    data = fp.Predictions.from_target_nontarget(*(each.numpy() for each in scores))
    c_miss, c_fa, p = ({"c_miss": 1.0, "c_fa": 1.0, "p_target": 0.01} | costs).values()
    ours = min(c_miss * p, c_fa * (1.0 - p)) * fp.MinDCF(p, c_miss, c_fa)(data)
    assert ours == pytest.approx(min(cost, c_fa * (1.0 - p)), abs=10.0 * SINGLE)
