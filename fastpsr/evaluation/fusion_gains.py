"""`evaluate_fusion`: gains of a fusion from each system, and from quality measures."""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

from fastpsr.bootstrap import Resampling
from fastpsr.bootstrap.intervals import Method
from fastpsr.bootstrap.settings import Intervals
from fastpsr.calibration import ByCondition, LinearFusion, Quality, Training, cross_fit
from fastpsr.calibration.folds import Folds
from fastpsr.calibration.fusion import Systems, systems_by_name
from fastpsr.calibration.training import refitted_training
from fastpsr.checks import check_instance
from fastpsr.data import By, Data
from fastpsr.errors import ArgumentError
from fastpsr.evaluation.evaluate import as_steps, evaluate_systems
from fastpsr.evaluation.specification import Metrics, Specification
from fastpsr.evaluation.table import Evaluation
from fastpsr.evaluation.task import Progress, no_progress
from fastpsr.metrics import EER, ActDCF, BayesRisk, Cllr, CrossEntropy, Metric, MinCllr, MinDCF
from fastpsr.metrics.defaults import default_metrics
from fastpsr.metrics.spoofing import MinTDCF
from fastpsr.options import with_hints

#: The row of the fusion of all systems.
FUSED = "fused"
#: The beginning of the rows of fusions of less than all.
WITHOUT = "without "
_OF_TWO_CLASSES = (EER, MinDCF, ActDCF, MinTDCF, Cllr, MinCllr)
_OF_MORE = (CrossEntropy, BayesRisk)


@with_hints
def evaluate_fusion(
    systems: Systems,
    fusion: LinearFusion | ByCondition | None = None,
    metrics: Metrics | None = None,
    *,
    by: By | None = None,
    train: Training | None = None,
    n_resamples: int = 0,
    confidence_level: float = 0.95,
    method: Method = "auto",
    resampling: Resampling | None = None,
    seed: int | None = None,
    progress: bool | Progress | None = None,
    refits: bool = False,
) -> Evaluation:
    """Compare a cross-fitted fusion with its systems, and with the fusion without each of them.

    Parameters
    ----------
    systems : dict of name to Predictions or Quality, or list of these
        As for :meth:`LinearFusion.fit`; labeled. Of a list, names are places.
    fusion : LinearFusion, or ByCondition of one, optional
        By default ``LinearFusion()``.
    metrics : metric, dict of name to metric, or list of metrics, optional
        As for :func:`fastpsr.evaluate`. By default EER, minDCF and actDCF at a prior of 0.01, Cllr
        and minCllr; for several classes normalized cross-entropy and error rate.
    by : str, list of str, or dict of name to array-like of shape (N,), optional
        Columns of the predictions, or ids by name: conditions, for ``ByCondition``.
    train : CrossFit or TrainOnTest, optional
        By default ``CrossFit()``. Folds are assigned once, and shared by all fusions.
    n_resamples, confidence_level, method, resampling, seed, progress
        As for :func:`fastpsr.evaluate`.
    refits : bool
        Whether fusions are fitted again in each replicate, on the same folds. The method "auto" is
        then "percentile": others compute values of thousands of subsets.

    Returns
    -------
    Evaluation
        The systems of its table are "fused"; each system; "without quality", the fusion of the
        systems alone, if there are quality measures; "without conditions", one fusion for all, if
        `fusion` is by condition; and, of two systems or more, "without NAME",
        the fusion of all else. Raw scores have no Cllr and actDCF: the row of such a system is
        "NAME calibrated", its cross-fitted fusion alone; rows that would repeat it are left out.
        The differences are "fused" minus each other row, on the same bootstrap draws: negative
        values are gains for metrics that are losses.

    Raises
    ------
    ArgumentError
        As :meth:`LinearFusion.fit`, also without one of the systems; for systems with the name of
        a row, such as "fused"; for held-out training; and as :func:`fastpsr.evaluate`.

    Warns
    -----
    SuspicionWarning, RuntimeWarning
        As :func:`fastpsr.evaluate`.

    Notes
    -----
    By default intervals hold the fits fixed: the replicates draw samples, and each sample keeps the
    score that the fusion without its fold gave it. With `refits` they contain what other training
    data would change: each replicate fits the fusions to the samples that it draws. Searches in
    replicates end where what is left is below a hundredth of what replicates differ by; those in
    which a fit has no optimum are undefined. Systems in parts are not fitted again.

    Examples
    --------
    >>> import numpy as np, fastpsr as fp
    >>> rng = np.random.default_rng(0)
    >>> y = (rng.random(4000) < 0.3).astype(int)
    >>> a, b = (
    ...     fp.Predictions.from_raw_scores(y, y + rng.normal(size=y.size)) for _ in range(2))
    >>> metrics = [fp.Cllr(), fp.EER()]
    >>> found = fp.evaluate_fusion({"a": a, "b": b}, metrics=metrics, n_resamples=200, seed=0)
    >>> for each in found.differences[:2]:
    ...     print(each.name, each.metric, round(each.value, 3), each.excludes_zero)
    fused - a calibrated Cllr -0.112 True
    fused - a calibrated EER -0.068 True
    """
    if n_resamples and refits and method == "auto":
        method = "percentile"
    intervals = Intervals.if_any(n_resamples, confidence_level, method, resampling, seed)
    steps = as_steps(progress)
    fusion = LinearFusion() if fusion is None else fusion
    _check_fusion(fusion, by, refits=refits)
    rows = cross_fitted_rows(systems, fusion, train, steps, by=by, refits=refits)
    if metrics is None:
        metrics = metrics_of_fusion(rows[FUSED].n_classes)
    return evaluate_systems(rows, Specification(metrics, intervals, differences="first"), steps)


def metrics_of_fusion(n_classes: int, **options: Any) -> dict[str, Metric[Any]]:
    """Return the default metrics by name; `options` are as for :func:`default_metrics`."""
    kinds = _OF_TWO_CLASSES if n_classes == 2 else _OF_MORE
    usual = default_metrics(n_classes, "likelihoods", **options)
    return {name: metric for name, metric in usual.items() if isinstance(metric, kinds)}


def cross_fitted_rows(
    systems: Systems,
    fusion: LinearFusion | ByCondition,
    train: Training | None,
    progress: Progress = no_progress,
    *,
    by: By | None = None,
    refits: bool = False,
) -> dict[str, Any]:
    """Return the predictions of each row of the table by its name: the fusion first."""
    named = systems_by_name(systems)
    training = refitted_training(train, "these systems")

    @cache
    def dealt() -> Folds:
        return training.folds_of(next(e for e in named.values() if not isinstance(e, Quality)))

    def fused(row: str, fusion: LinearFusion | ByCondition, inputs: Any) -> Any:
        try:
            if isinstance(fusion, ByCondition):
                return cross_fit(fusion, inputs, training, by=by)  # type: ignore[arg-type]
            return fusion.cross_fitted(inputs, lambda _: dealt(), refits=refits)
        except ArgumentError as error:
            if row == FUSED:
                raise
            name = f"{error.name or error.argument}, for the row {row!r},"
            raise error.renamed(name) from None

    fusions = _fusions_by_row(named, fusion)
    rows: dict[str, Any] = {}
    for row, (of_row, inputs) in fusions.items():
        progress("cross-fitting", len(rows), len(fusions))
        rows[row] = inputs if of_row is None else fused(row, of_row, inputs)
    return rows


def _check_fusion(fusion: Any, by: Any, *, refits: bool) -> None:
    """Raise unless it is a fusion, and conditions go with it."""
    of_all = fusion.calibrator if isinstance(fusion, ByCondition) else fusion
    check_instance("fusion", of_all, LinearFusion, "a LinearFusion, or ByCondition of one")
    if (by is not None) != isinstance(fusion, ByCondition):
        rule = "must be given with ByCondition(LinearFusion()), and only then"
        raise ArgumentError("by", rule)
    if refits and by is not None:
        raise ArgumentError("refits", "must be False for a fusion by condition")


def _fusions_by_row(
    inputs: Mapping[Any, Data | Quality], fusion: LinearFusion | ByCondition
) -> dict[str, tuple[LinearFusion | ByCondition | None, Any]]:
    """Return by row a fusion and what it is of; None and a system that is taken as it is."""
    systems = {name: system for name, system in inputs.items() if not isinstance(system, Quality)}
    rows: list[tuple[str, tuple[Any, Any]]] = [(FUSED, (fusion, inputs))]
    calibrated = [n for n, s in systems.items() if getattr(s, "kind", "") == "raw scores"]
    for name, system in systems.items():
        if name in calibrated:
            rows.append((f"{name} calibrated", (fusion, {name: system})))
        else:
            rows.append((str(name), (None, system)))
    alone = [{name} for name in calibrated]  # rows that others would repeat
    if len(systems) < len(inputs) and {*systems} not in alone:
        rows.append((f"{WITHOUT}quality", (fusion, systems)))
    if isinstance(fusion, ByCondition):
        rows.append((f"{WITHOUT}conditions", (fusion.calibrator, inputs)))
    for name in systems if len(systems) > 1 else []:
        remaining = {key: source for key, source in inputs.items() if key != name}
        if {*remaining} not in alone:
            rows.append((f"{WITHOUT}{name}", (fusion, remaining)))
    for name, n in Counter([*(row for row, _ in rows), *map(str, calibrated)]).items():
        if n > 1:
            rule = f"must have names other than those of rows of the table, not {name!r}"
            raise ArgumentError("systems", rule)
    return dict(rows)
