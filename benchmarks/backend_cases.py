"""What fastpsr and the tools that call it compute of the same data, in the names of each tool."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

import fastpsr as fp
from benchmarks.data import SITW, Size, make_trials

N_REPLICATES = 1_000
_VOXCELEB = 37_611  # trials of VoxCeleb1-O, cleaned
_MANY = 3_700_000  # trials that speechbrain's issue 1387 is about
_N_MODELS = 1_202  # of SITW's core-core condition
_BATCH = 65_536


@dataclass(frozen=True, eq=False)
class ToolCase:
    """What both sides compute of the same data.

    Attributes
    ----------
    name : str
    n : int
        Number of samples.
    make : callable
        Returns data of a number of samples.
    ours, theirs : callable of data
    agree : callable of our and their result
        Raises if these differ.
    few : int
        If positive, the tool computes only so many of `N_REPLICATES`, and is called with their
        number: time and memory of the others are extrapolated.
    address_space : int
        If positive, both sides only say whether so many bytes suffice; the tool's need not.
    """

    name: str
    n: int
    make: Callable[[int], Any]
    ours: Callable[[Any], Any]
    theirs: Callable[..., Any]
    agree: Callable[[Any, Any], None]
    few: int = 0
    address_space: int = 0

    def call(self, side: str, data: Any, n_replicates: int = 0) -> Any:
        """Return what a side computes."""
        if side == "fastpsr":
            return self.ours(data)
        return self.theirs(data, n_replicates or self.few) if self.few else self.theirs(data)


@dataclass(frozen=True, eq=False)
class Tool:
    """A tool and its cases.

    Attributes
    ----------
    package : str
        As it is installed.
    module : str
        As it is imported.
    cases : tuple of ToolCase
    """

    package: str
    module: str
    cases: tuple[ToolCase, ...]

    @property
    def is_installed(self) -> bool:
        try:
            return find_spec(self.module) is not None
        except ModuleNotFoundError:  # of a package in which the module would be
            return False

    def __str__(self) -> str:
        try:
            return f"{self.package} {version(self.package)}"
        except PackageNotFoundError:  # a module on the path
            return self.package


def same(ours: Any, theirs: Any, tolerance: float = 1e-9) -> None:
    """Raise unless two values, or arrays of values, agree."""
    assert_allclose(np.asarray(ours, float), np.asarray(theirs, float), rtol=tolerance, atol=1e-12)


nearly_same = partial(same, tolerance=1e-5)  # to single precision


def gaussian(n: int) -> Any:
    """Return a trial list, with the share of targets of SITW's core-core condition."""
    return make_trials(Size(n, max(2, n * SITW.n_targets // SITW.n_trials)))


def balanced(n: int) -> Any:
    """Return a trial list, half of it targets."""
    return make_trials(Size(n, n // 2))


# speechbrain


def tensors(n: int, n_targets: int) -> tuple[Any, Any]:
    """Return scores of targets and non-targets, in double precision, without ties."""
    import torch

    trials = make_trials(Size(n, n_targets))
    return tuple(torch.from_numpy(trials.scores[trials.y == k]) for k in (1, 0))  # type: ignore


def speechbrain_call(name: str, ours: bool, scores: Any) -> float:
    from speechbrain.utils import metric_stats

    from fastpsr.compat import speechbrain

    return float(getattr(speechbrain if ours else metric_stats, name)(*scores)[0])


def speechbrain_case(name: str, n: int, share: int, **options: Any) -> ToolCase:
    return ToolCase(
        f"`{name}`", n, lambda n: tensors(n, n // share), partial(speechbrain_call, name, True),
        partial(speechbrain_call, name, False), nearly_same, **options,
    )  # fmt: skip


# 3D-Speaker, whose functions are wespeaker's


def nist_metrics(ours: bool, trials: Any) -> tuple[float, float]:
    if ours:
        from fastpsr.compat import nist as module
    else:
        from speakerlab.utils import score_metrics as module
    fnr, fpr = module.compute_pmiss_pfa_rbst(trials.scores, trials.y)
    return float(module.compute_eer(fnr, fpr)), float(module.compute_c_norm(fnr, fpr, 0.01))


def own_metrics(trials: Any) -> tuple[float, float]:
    data = fp.Predictions.from_raw_scores(trials.y, trials.scores)
    return fp.EER("crossing")(data), fp.MinDCF(0.01)(data)


# confidence-intervals


def with_conditions(n: int) -> tuple[Any, Any, Any]:
    trials = gaussian(n)
    return trials.log_odds, trials.y, np.random.default_rng(1).integers(0, _N_MODELS, n)


def our_interval(metric: Any, data: Any) -> Any:
    from fastpsr.compat.confidence_intervals import evaluate_with_conf_int

    samples, labels, conditions = data
    return evaluate_with_conf_int(samples, metric, labels, conditions, N_REPLICATES)


def their_interval(metric: Any, data: Any, n_replicates: int) -> Any:
    from confidence_intervals import evaluate_with_conf_int

    samples, labels, conditions = data
    return evaluate_with_conf_int(samples, metric, labels, conditions, n_replicates)


def interval_case(metric: Any) -> ToolCase:
    return ToolCase(
        f"{metric.label}, {N_REPLICATES:,} replicates", SITW.n_trials,
        with_conditions, partial(our_interval, metric), partial(their_interval, metric),
        lambda ours, theirs: same(ours[0], theirs[0]), few=2,
    )  # fmt: skip


# scikit-learn


def features(n: int) -> tuple[Any, Any]:
    from sklearn.datasets import make_classification

    found: tuple[Any, Any] = make_classification(n, n_informative=4, flip_y=0.1, random_state=0)
    return found


def classifier_case(method: str, calibrator: Any) -> ToolCase:
    def ours(data: Any) -> Any:
        from sklearn.naive_bayes import GaussianNB

        from fastpsr.sklearn import CalibratedClassifier

        return CalibratedClassifier(GaussianNB(), calibrator).fit(*data).predict_proba(data[0])

    def theirs(data: Any) -> Any:
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.naive_bayes import GaussianNB

        made = CalibratedClassifierCV(GaussianNB(), method=method, ensemble=False)
        return made.fit(*data).predict_proba(data[0])

    def agree(ours: Any, theirs: Any) -> None:
        assert np.abs(ours - theirs).mean() < 0.05  # not the same fit: see the page

    label = (
        f"`CalibratedClassifierCV({method})`, `CalibratedClassifier({type(calibrator).__name__})`"
    )
    return ToolCase(label, 200_000, features, ours, theirs, agree)


# torchmetrics


def batches(n: int) -> list[Any]:
    """Return batches of posteriors in single precision, and labels: each is copied when used."""
    import torch

    trials = balanced(min(n, 16 * _BATCH))
    both = (torch.from_numpy(trials.posteriors).float(), torch.from_numpy(trials.y))
    some = list(zip(*(each.split(_BATCH) for each in both), strict=True))
    return [some[k % len(some)] for k in range(-(-n // _BATCH))]


def updated(metric: Any, data: list[Any]) -> float:
    for posteriors, labels in data:
        metric.update(posteriors.clone(), labels.clone())
    return float(metric.compute())


def torchmetrics_case(name: str, metric: Any, **options: Any) -> ToolCase:
    def ours(data: Any) -> float:
        from fastpsr.torchmetrics import TorchMetric

        return updated(TorchMetric(metric, "posteriors"), data)

    def theirs(data: Any) -> float:
        from torchmetrics import classification

        return updated(getattr(classification, name)(**options), data)

    def agree(ours: float, theirs: float) -> None:
        assert abs(ours - theirs) < 2.5e-3  # its sums of this many are rounded to float32

    label = f"`{name}`, `TorchMetric({type(metric).__name__})`"
    return ToolCase(label, 2_000_000, batches, ours, theirs, agree)


# model-diagnostics


def decomposition(found: Any) -> list[float]:
    return [float(found[part]) for part in ("miscalibration", "discrimination", "uncertainty")]


def our_decomposition(rule: Any, trials: Any) -> list[float]:
    found = fp.decompose(fp.Predictions.from_posteriors(trials.y, trials.posteriors), rule)
    return decomposition(vars(found))


def their_decomposition(name: str, trials: Any) -> list[float]:
    from model_diagnostics import scoring

    found = scoring.decompose(
        trials.y.astype(float), trials.posteriors, scoring_function=getattr(scoring, name)()
    )
    return decomposition({part: found[part].item() for part in found.columns if part != "model"})


def decomposition_case(name: str, rule: Any) -> ToolCase:
    return ToolCase(
        f"`decompose`, {name}", 1_000_000, balanced, partial(our_decomposition, rule),
        partial(their_decomposition, name), same,
    )  # fmt: skip


# a_dcf


def kinds(n: int) -> list[Any]:
    """Return scores of targets, non-targets and spoofed trials."""
    rng = np.random.default_rng(0)
    return [rng.normal(mean, 1.0, n // 3) for mean in (2.5, -1.5, 0.0)]


def our_adcf(by_kind: list[Any]) -> float:
    kind = np.repeat([2, 0, 1], [scores.size for scores in by_kind])
    return fp.MinADCF(kind == 1)(kind == 2, np.concatenate(by_kind))


def their_adcf(by_kind: list[Any]) -> float:
    """Compute what `calculate_a_dcf` does after it has read its file."""
    from a_dcf import a_dcf

    model = a_dcf.CostModel()
    fa, fa_spoof, miss, _ = a_dcf.compute_a_det_curve(*by_kind)
    costs = model.Cmiss * model.Ptrg * np.array(miss) + model.Cfa_asv * model.Pnontrg * np.array(fa)
    costs += model.Cfa_cm * model.Pspf * np.array(fa_spoof)
    return float(a_dcf.normalize(costs, model).min())


# lir


def llr_data(n: int) -> Any:
    """Return data of lir, whose LLRs are decadic logarithms."""
    from lir.data.models import LLRData

    trials = gaussian(n)
    return LLRData(features=trials.log_odds[:, None] / np.log(10.0), labels=trials.y)


def lir_case(path: str, metric: Any) -> ToolCase:
    def ours(data: Any) -> float:
        llrs = np.log(10.0) * data.llrs
        return float(metric(fp.Predictions.from_llrs(data.require_labels, llrs)))

    def theirs(data: Any) -> float:
        module, name = path.rsplit(".", 1)
        return float(getattr(import_module(module), name)(data))

    return ToolCase(
        f"`{path}`, `{type(metric).__name__}`",
        SITW.n_trials,
        llr_data,
        ours,
        theirs,
        partial(same, tolerance=1e-6),
    )


TOOLS: dict[str, Tool] = {
    "speechbrain": Tool("speechbrain", "speechbrain", (
        speechbrain_case("EER", _VOXCELEB, 2),
        speechbrain_case("minDCF", 5_000, 2),
        speechbrain_case("minDCF", _MANY, 10, address_space=4 << 30),
    )),
    "speakerlab": Tool("speakerlab", "speakerlab.utils.score_metrics", (
        *(
            ToolCase("`compat.nist`: EER and minDCF", n, gaussian, partial(nist_metrics, True),
                 partial(nist_metrics, False), same)
            for n in (_VOXCELEB, _MANY)
        ),
        ToolCase('`EER("crossing")` and `MinDCF(0.01)`', _MANY, gaussian, own_metrics,
             partial(nist_metrics, False), same),
    )),
    "confidence-intervals": Tool("confidence-intervals", "confidence_intervals", (
        interval_case(fp.EER()), interval_case(fp.Cllr())
    )),
    "scikit-learn": Tool("scikit-learn", "sklearn", (
        classifier_case("isotonic", fp.PAV()),
        classifier_case("sigmoid", fp.DirectionPreserving()),
    )),
    "torchmetrics": Tool("torchmetrics", "torchmetrics", (
        torchmetrics_case("BinaryCalibrationError", fp.ECE(15), n_bins=15),
        torchmetrics_case("BinaryAUROC", fp.AUC()),
    )),
    "model-diagnostics": Tool("model-diagnostics", "model_diagnostics", (
        decomposition_case("LogLoss", fp.rules.Log()),
        decomposition_case("SquaredError", fp.rules.Brier()),
    )),
    "a_dcf": Tool("a_dcf", "a_dcf", (
        ToolCase("`compute_a_det_curve`, `MinADCF`", 600_000, kinds, our_adcf, their_adcf, same),
    )),
    "lir": Tool("lir", "lir", (
        lir_case("lir.metrics.cllr", fp.Cllr()),
        lir_case("lir.metrics.cllr_min", fp.MinCllr()),
        lir_case("lir.algorithms.devpav.devpav", fp.DevPAV()),
    )),
}  # fmt: skip
