"""`trials.evaluate`: the metrics of systems on trial lists."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap import Resampling
from fastpsr.bootstrap.intervals import Method
from fastpsr.bootstrap.settings import Intervals
from fastpsr.data import Bins, Kind, Predictions, Scale
from fastpsr.data.groupings import columns_by_name
from fastpsr.errors import ArgumentError, warn
from fastpsr.evaluation import Evaluation, GroupPairs, Pairs
from fastpsr.evaluation.conditions import kept_apart, sharing_targets
from fastpsr.evaluation.evaluate import as_steps, evaluate_systems
from fastpsr.evaluation.specification import Metrics, Specification, named_metrics
from fastpsr.evaluation.task import Progress
from fastpsr.ids import SPEAKER_COLUMNS
from fastpsr.metrics import ActADCF, MinADCF
from fastpsr.metrics.base import AnyMetric
from fastpsr.trials.common import common_trials
from fastpsr.trials.labels import KIND
from fastpsr.trials.trial_set import SPOOF, TrialSet, predictions_of, units_of

#: Columns of conditions; those of a tuple are combined.
Conditions = str | Sequence[str | tuple[str, ...]]


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

    What `metrics`, `resampling` and the folds of `CrossFit` need to know of each trial may be the
    name of a column of the predictions (:meth:`TrialSet.predictions`).

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
    if not isinstance(sets, Mapping):
        sets = {None: sets}  # type: ignore[dict-item]
    for name, trials in sets.items():
        if not isinstance(trials, TrialSet):
            raise ArgumentError("sets", f"must be trials, or a dict of these, not {trials!r}")
        if trials.y_true is None:
            raise ArgumentError(
                "sets", "must have labels", name="sets" if name is None else f"{name}: sets"
            )
    if not sets:
        raise ArgumentError("sets", "must not be empty")
    intervals = Intervals.if_any(n_resamples, confidence_level, method, resampling, seed)
    specification = Specification(metrics, intervals, by, bins, differences, group_differences)
    batches: list[Mapping[Any, TrialSet]] = [{name: trials} for name, trials in sets.items()]
    if differences is not None:
        common, left_out = common_trials(sets)
        batches = [common]
        if left_out:
            warn(left_out)
    evaluations = []
    for batch in batches:
        first, *_ = batch.values()
        first.check_columns("by", columns_by_name(by or []).values())
        weights = weights_of(first, equalize)
        kinds = {n: scores_are[n] if isinstance(scores_are, Mapping) else scores_are for n in batch}
        systems = _predictions(batch, kinds, prior, weights)
        own_by: Any = by
        is_spoof = first.is_spoof
        if is_spoof is not None:
            data, *_ = systems.values()
            own_by = sharing_targets(data, [KIND] if by is None else by, bins, is_spoof)
        own = replace(
            specification,
            by=own_by,
            metrics=metrics_of(first, metrics, [data.kind for data in systems.values()]),
            intervals=intervals and intervals.drawing(units_of(first, resampling)),
        )
        evaluation = evaluate_systems(
            systems, own, as_steps(progress), always_named=None not in sets,
            unweighted=None if weights is None else _predictions(batch, kinds, prior, None),
        )  # fmt: skip
        evaluations.append(evaluation)
    return Evaluation.joined(evaluations)


def metrics_of(
    trials: TrialSet, metrics: Metrics | None, kinds: Sequence[Kind]
) -> dict[str, AnyMetric]:
    """Return metrics by name, whose cross-fitting keeps known speakers apart."""
    has_spoof = trials.is_spoof is not None
    named = named_metrics(metrics, 2, kinds, spoofing=[MinADCF(SPOOF)] if has_spoof else [])
    for metric in [] if has_spoof else named.values():
        if isinstance(metric, MinADCF | ActADCF) and str(metric.spoof) == SPOOF:
            raise ArgumentError("metrics", f"must not be {metric.label}: no trials are spoofed")
    return kept_apart(named, SPEAKER_COLUMNS) if trials.has_speakers else dict(named)


def weights_of(made: TrialSet, equalize: str | Sequence[str] | None) -> NDArray[np.float64] | None:
    """Return the weights of the trials that give partitions by these columns equal weight."""
    if equalize is None:
        return None
    names = [equalize] if isinstance(equalize, str) else [*equalize]
    made.check_columns("equalize", names)
    try:
        return made.equalized_weights(names)
    except ArgumentError as error:
        raise ArgumentError("equalize", error.rule) from None


def _predictions(
    sets: Mapping[Any, TrialSet],
    kinds: Mapping[Any, Scale],
    prior: float | None,
    weights: NDArray[np.float64] | None,
) -> dict[Any, Predictions]:
    return {
        name: predictions_of(trials, name, kinds[name], prior=prior, weights=weights)
        for name, trials in sets.items()
    }
