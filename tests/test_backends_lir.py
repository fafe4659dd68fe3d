"""Metrics of fastpsr in lir: its registry takes any dotted path, its metrics are f(LLRData)."""

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

lir = pytest.importorskip("lir")

from lir.config.metrics import parse_individual_metric
from lir.data.models import LLRData
from lir.metrics import cllr, cllr_min

import fastpsr as fp

pytestmark = pytest.mark.filterwarnings("ignore:.labels. is deprecated:UserWarning")

MODULE = """
import numpy as np
import fastpsr as fp


def predictions(llr_data):
    return fp.Predictions.from_llrs(llr_data.require_labels, np.log(10.0) * llr_data.llrs)


def cllr(llr_data):
    return fp.Cllr()(predictions(llr_data))


def cllr_min(llr_data):
    return fp.MinCllr()(predictions(llr_data))


def cllr_with_interval(llr_data):
    found = fp.bootstrap(fp.Cllr(), predictions(llr_data), seed=0)
    return found.value, *found.interval
"""


@pytest.fixture
def metrics(monkeypatch):
    """A module of a user's own."""
    module = ModuleType("own_metrics")
    exec(MODULE, module.__dict__)
    monkeypatch.setitem(sys.modules, "own_metrics", module)
    return module


def llr_data():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 200)
    log10 = (2.0 * labels - 1.0 + rng.normal(size=200)) / np.log(10.0)
    return LLRData(features=log10[:, None], labels=labels)


@pytest.mark.parametrize(("name", "theirs"), [("cllr", cllr), ("cllr_min", cllr_min)])
def test_metrics_by_dotted_path(metrics, name, theirs):
    data = llr_data()
    metric = parse_individual_metric(f"own_metrics.{name}", Path(), [])
    assert metric(data) == pytest.approx(theirs(data), rel=1e-9)


def test_an_interval_becomes_columns(metrics):
    metric = parse_individual_metric("own_metrics.cllr_with_interval", Path(), [])
    data = llr_data()
    value, low, high = metric(data)
    assert value == pytest.approx(cllr(data), rel=1e-9)
    assert low < value < high
    assert type(value) is type(low) is float
    assert fp.Cllr()(metrics.predictions(data)) == value
