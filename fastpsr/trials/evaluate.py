"""`trials.evaluate`: the metrics of systems on trial lists."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks
from fastpsr.bootstrap import IID, Resampling, TwoWay
from fastpsr.bootstrap.intervals import Method
from fastpsr.bootstrap.schemes import names_of_ids, with_ids
from fastpsr.bootstrap.settings import Intervals
from fastpsr.calibration import CrossFit
from fastpsr.data import Bins, Kind, Predictions, Scale, SharedTargets
from fastpsr.errors import ArgumentError, warn
from fastpsr.evaluation import Evaluation, GroupPairs, Pairs, evaluate_systems
from fastpsr.evaluation.evaluate import as_steps
from fastpsr.evaluation.specification import Metrics, Specification, named_metrics
from fastpsr.evaluation.task import Progress
from fastpsr.metrics import ActADCF, CalibrationLoss, MinADCF
from fastpsr.metrics.base import AnyMetric
from fastpsr.trials.coded import Coded
from fastpsr.trials.common import common_trials
from fastpsr.trials.conditions import Conditions, conditions, known_column, spoofed_trials
from fastpsr.trials.trial_set import TrialSet

_SPOOF = "spoof"  # the column of costs of spoofed trials that every list with such trials has


def evaluate(
    sets: TrialSet | Mapping[str, TrialSet],
    metrics: Metrics | None = None,
    *,
    scores_are: Scale | Mapping[str, Scale] = "llr",
    prior: float | None = None,
    by: Conditions | None = None,
    bins: Bins | None = None,
    equalize: str | Sequence[str] | None = None,
    differences: Pairs | None = None,
    group_differences: GroupPairs | None = None,
    n_resamples: int = 0,
    confidence_level: float = 0.95,
    method: Method = "auto",
    resampling: Resampling | None = None,
    seed: int | None = None,
    progress: bool | Progress | None = None,
) -> Evaluation:
    r"""Compute a table of metrics of trials, as ``fastpsr evaluate`` and ``compare`` do.

    What `metrics`, `resampling` and the folds of `CrossFit` need to know of each trial may be given
    as the name of a column of the trials.

    Parameters
    ----------
    sets : TrialSet, or dict of name to TrialSet
        Labeled trials of a system, or of several.
    metrics : metric, dict of name to metric, or list of metrics, optional
        As for :func:`fastpsr.evaluate`; of lists with spoofed trials a-DCF too.
        ``MinADCF("spoof")`` is of the spoofed trials of the list. Cross-fitting keeps known
        speakers apart, unless its `groups` are given.
    scores_are : {"llr", "log10-llr", "posteriors", "raw"}, or dict of name to these
        Kind of the scores, as for :meth:`TrialSet.predictions`.
    prior : float, optional
        P(target); by default the weighted frequency of targets.
    by : str, or list of str or tuple of str, optional
        Columns of conditions: the metrics are also computed for the trials of each value, or of
        each combination of values of the columns of a tuple. By default the kinds of trials of a
        list with spoofed ones. If some value has spoofed trials and no targets, all share the
        targets.
    bins : int, sequence of float, "each", or dict of name to one of these, optional
        Bins of columns of numbers, as for :func:`fastpsr.evaluate`.
    equalize : str or sequence of str, optional
        Columns whose partitions get equal weight in all trials together, as by
        :meth:`TrialSet.equalized_weights`.
    differences : {"first", "all"}, optional
        Also the differences between systems, as for :func:`fastpsr.evaluate`. All systems are
        evaluated on the trials that all have scores of. Without, each is on its own trials.
    group_differences : {"pooled", "all"}, optional
        With `by`, as for :func:`fastpsr.evaluate`.
    n_resamples : int
        Number of bootstrap replicates; with 0 there are no confidence intervals.
    confidence_level, method, seed
        As for :func:`fastpsr.bootstrap`.
    resampling : Resampling, optional
        By default ``TwoWay`` of the speakers if these are known, else ``IID()``. Ids may be names
        of columns, as in ``fp.Clusters("session")``.
    progress : bool or callable, optional
        As for :func:`fastpsr.evaluate`.

    Returns
    -------
    Evaluation
        Conditions are evaluated without the weights of `equalize`.

    Raises
    ------
    ValueError
        For unlabeled trials, unknown columns, scores that are not of their kind, differences of
        systems without common trials, ``group_differences="pooled"`` where conditions have other
        metrics or weights than all trials, and as :func:`fastpsr.evaluate`.

    Warns
    -----
    RuntimeWarning
        For `differences`, if trials are left out because some system has no score of them; and as
        :func:`fastpsr.evaluate`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fastpsr import trials
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "scores.csv")
    ...     _ = path.write_text(
    ...         "enroll,test,label,score,channel\n"
    ...         "ann,a1,1,2.5,near\nann,b1,0,-3,near\nbob,b1,1,0.5,far\nbob,a2,0,1,far\n")
    ...     made = trials.read(path)
    >>> print(evaluate(made, ["EER", "Cllr"], by="channel"))
                   pooled  channel=far  channel=near
    targets             2            1             1
    non-targets         2            1             1
    EER          25.000 %     50.000 %       0.000 %
    Cllr           0.6906       1.2893        0.0920
    """
    checks.check_choice("differences", differences, (None, "first", "all"))
    checks.check_choice("group_differences", group_differences, (None, "pooled", "all"))
    intervals = Intervals.if_any(n_resamples, confidence_level, method, resampling, seed)
    systems: Mapping[Any, TrialSet] = sets if isinstance(sets, Mapping) else {None: sets}
    for name, made in systems.items():
        if not isinstance(made, TrialSet):
            raise ArgumentError("sets", f"must be trials, or a dict of these, not {made!r}")
        if made.y_true is None:
            raise ArgumentError("sets", "must have labels", name=_place(name, "sets"))
    if differences is not None:
        systems, left_out = common_trials(systems)
        if left_out:
            warn(left_out)
    kinds = {
        name: scores_are[name] if isinstance(scores_are, Mapping) else scores_are
        for name in systems
    }
    together = [systems] if differences is not None else [{n: s} for n, s in systems.items()]
    found = [
        _evaluate(
            some, metrics, {name: kinds[name] for name in some}, prior, by, bins, equalize,
            differences, group_differences, intervals, as_steps(progress),
            resampling,
        )
        for some in together
    ]  # fmt: skip
    if not found:
        raise ArgumentError("sets", "must not be empty")
    return Evaluation.joined(found)


def _evaluate(
    systems: Mapping[Any, TrialSet],
    metrics: Metrics | None,
    kinds: Mapping[Any, Scale],
    prior: float | None,
    by: Conditions | None,
    bins: Bins | None,
    equalize: str | Sequence[str] | None,
    differences: Pairs | None,
    group_differences: GroupPairs | None,
    intervals: Intervals | None,
    progress: Progress | None,
    resampling: Resampling | None,
) -> Evaluation:
    """Evaluate systems on the same trials, all trials before the conditions."""
    (first, made), *_ = systems.items()
    weights, groups = weights_of(made, equalize), conditions(made, by, bins)

    def predictions(weights: NDArray[np.float64] | None) -> dict[Any, Predictions]:
        return {
            name: predictions_of(each, name, kinds[name], prior=prior, weights=weights)
            for name, each in systems.items()
        }

    weighted = predictions(weights)
    named = metrics_of(made, metrics, [each.kind for each in weighted.values()])
    if intervals is not None:
        intervals = intervals.drawing(units_of(made, resampling))
        _check_units(intervals.resampling, first, weighted[first])

    def table(
        predictions: Mapping[Any, Predictions], metrics: Mapping[str, AnyMetric], by: Any,
        group_differences: GroupPairs | None = None, *, with_all: bool = True,
    ) -> Evaluation:  # fmt: skip
        specification = Specification(
            metrics, intervals, by, bins if by else None, differences, group_differences
        )
        return evaluate_systems(
            predictions, specification, progress, with_all=with_all, always_named=first is not None
        )

    of_groups = named
    if groups is not None and any(isinstance(each, SharedTargets) for each in groups.values()):
        costs = (MinADCF, ActADCF)  # of all three kinds of trials
        of_groups = {name: each for name, each in named.items() if not isinstance(each, costs)}
    if groups is None or (weights is None and len(of_groups) == len(named)):
        return table(weighted, named, groups, group_differences)
    if group_differences == "pooled":
        why = "spoofed trials, where conditions have other metrics"
        if weights is not None:
            why = "equalize=..., where conditions have other weights"
        raise ArgumentError(
            "group_differences", f"must not be pooled with {why} than all trials: use all"
        )
    found = [table(weighted, named, None)]
    if of_groups:
        # weights make conditions count alike in the pooled result, and nowhere else
        alike = weighted if weights is None else predictions(None)
        found.append(table(alike, of_groups, groups, group_differences, with_all=False))
    return Evaluation.joined(found)


def metrics_of(
    made: TrialSet, metrics: Metrics | None, kinds: Sequence[Kind]
) -> dict[str, AnyMetric]:
    """Return metrics by name, with what they need to know of these trials."""
    is_spoof = spoofed_trials(made)
    spoofing = [] if is_spoof is None else [MinADCF(_SPOOF)]
    named = named_metrics(metrics, 2, kinds, spoofing=spoofing)
    return {name: _of_trials(each, made, is_spoof) for name, each in named.items()}


def _of_trials(metric: Any, made: TrialSet, is_spoof: NDArray[np.bool_] | None) -> Any:
    """Return a metric with the values of columns in place of their names."""
    if isinstance(metric, MinADCF | ActADCF) and isinstance(metric.spoof, str):
        if metric.spoof != _SPOOF:
            return replace(metric, spoof=made.column(metric.spoof))
        if is_spoof is None:
            raise ArgumentError("metrics", f"must not be {metric.label}: no trials are spoofed")
        return replace(metric, spoof=is_spoof)
    if isinstance(metric, CalibrationLoss) and isinstance(metric.train, CrossFit):
        train = metric.train
        if train.groups is None and isinstance(train.folds, int) and made.has_speakers:
            return replace(metric, train=replace(train, groups=made.speakers))
        changes: dict[str, Any] = {
            name: _ids(made, value, "metrics")
            for name, value in (("folds", train.folds), ("groups", train.groups))
            if isinstance(value, str)
        }
        return replace(metric, train=replace(train, **changes)) if changes else metric
    return metric


def units_of(made: TrialSet, resampling: Resampling | None) -> Resampling:
    """Return a scheme that draws units of these trials, by default their speakers if known."""
    if resampling is None:
        return TwoWay(*made.speakers) if made.has_speakers else IID()
    names = names_of_ids(resampling)
    if isinstance(resampling, TwoWay) and len(names) == 2:  # one population of both columns
        enroll, test = (known_column(made, name, "resampling") for name in names.values())
        return TwoWay(*made.with_speakers(column=(enroll, test)).speakers)
    return with_ids(resampling, lambda name: _ids(made, name, "resampling"))


def _check_units(resampling: Resampling, name: Any, predictions: Predictions) -> None:
    """Raise where there are too few units to draw."""
    try:
        resampling.units(predictions)
    except ArgumentError as error:
        raise error.renamed(_place(name, error.name or error.argument)) from None
    except ValueError as error:
        raise ValueError(_place(name, str(error))) from None


def _ids(made: TrialSet, name: str, argument: str) -> NDArray[Any]:
    """Return the values of a column, as numbers if it has text."""
    column = made.columns[known_column(made, name, argument)]
    return column.codes if isinstance(column, Coded) else column


def weights_of(made: TrialSet, equalize: str | Sequence[str] | None) -> NDArray[np.float64] | None:
    """Return the weights of the trials that give partitions by these columns equal weight."""
    if equalize is None:
        return None
    names = [equalize] if isinstance(equalize, str) else [*equalize]
    for name in names:
        known_column(made, name, "equalize")
    try:
        return made.equalized_weights(names)
    except ArgumentError as error:
        raise ArgumentError("equalize", error.rule) from None


def predictions_of(
    made: TrialSet,
    name: Any,
    scores_are: Scale,
    *,
    prior: float | None = None,
    weights: NDArray[np.float64] | None = None,
) -> Predictions:
    """Return the predictions of trials; an error names the system and the trial."""
    try:
        return made.predictions(scores_are, prior=prior, weights=weights)
    except ArgumentError as error:
        if error.argument != "scores":
            raise error.renamed(_place(name, error.argument)) from None
        row, said = error.index, error.renamed("score").problem
        if row is not None and made.enroll_ids is not None:
            said = f"score {error.rule}, but that of {trial_of(made, row)} is {error.value}"
        raise ValueError(f"{_place(name, said)} (taken as {scores_are})") from None


def trial_of(made: TrialSet, row: int) -> str:
    """Return the ids of a trial, or its number where there are none."""
    if made.enroll_ids is None or made.test_ids is None:
        return f"trial {row}"
    return f"{made.enroll_ids[row]!r} {made.test_ids[row]!r}"


def _place(name: Any, what: str) -> str:
    return what if name is None else f"{name}: {what}"
