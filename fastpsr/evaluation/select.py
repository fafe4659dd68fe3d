"""`select`: the best of several calibrators, chosen honestly."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastpsr.bootstrap import Resampling
from fastpsr.bootstrap.intervals import Method, percentile
from fastpsr.bootstrap.settings import Intervals, Progress, as_progress
from fastpsr.calibration import ByCondition, CrossFit, LinearFusion
from fastpsr.calibration.base import Calibrator, FitTransform, as_calibrator
from fastpsr.checks import check_instance
from fastpsr.data import By, Data, Floats, Kind, Part, Predictions, Transform, check_data, mapped
from fastpsr.errors import ArgumentError
from fastpsr.evaluation.grid import Cell, Grid, ShownAsGrid, number, with_interval
from fastpsr.evaluation.nested_choice import NoCalibration, nested_choices
from fastpsr.metrics import ExpectedScore
from fastpsr.metrics.calibration_loss import relative_loss
from fastpsr.options import with_hints
from fastpsr.results import Result
from fastpsr.rules import Log, ScoringRule
from fastpsr.rules.base import check_rule

#: By name; None for no calibration.
Candidates = Mapping[str, Calibrator | FitTransform | ByCondition | None]

#: Fitted attributes that are no parameters of a map.
_SETTINGS = {"floor_", "prior_log_odds_", "log_priors_", "n_samples_", "domain_"}


@dataclass(frozen=True, eq=False)
class Candidate(Result):
    """A calibrator that could be chosen, cross-fitted.

    Attributes
    ----------
    name : str
    epsr : float
        Expected loss after cross-fitted calibration.
    score : float
        `epsr` divided by the loss of the naive system, whose posteriors are the priors.
    rcl : float
        Relative calibration loss, percent; nan for raw scores.
    difference : float
        `score` minus the score of the chosen calibrator.
    low, high : float
        Ends of the interval of the difference, which hold for all candidates at once; nan without
        replicates.
    """

    name: str
    epsr: float
    score: float
    rcl: float
    difference: float
    low: float = float("nan")
    high: float = float("nan")


@dataclass(frozen=True, eq=False)
class Selection(ShownAsGrid, Result):
    """The choice among calibrators, with its nested score.

    Attributes
    ----------
    table : tuple of Candidate
        In the order in which they were given.
    chosen : str
        Name of the candidate with the lowest cross-fitted score, of equal ones the first.
    calibrator : calibrator, ByCondition or None
        The chosen one, fitted to all data; None if no calibration was chosen.
    score : float
        Normalized score of the procedure that includes the choice: the nested score.
    low, high : float
        Ends of its percentile interval, with a choice in every replicate; nan without replicates.
    optimism : float
        `score` less the lowest cross-fitted score, which was chosen by the samples it is of; nan
        where the score is infinite.
    choices : tuple of str
        Choice for each fold without its samples.
    alike : tuple of str
        Candidates that intervals do not distinguish from the chosen one, including it; without
        replicates the chosen one alone.
    simplest : str
        Of these, the one of the fewest parameters.
    left_out : dict of str to str
        Candidates that cannot be compared, and why.
    label : str
        Name of the normalized score.
    confidence_level : float
    n_resamples : int
    n_undefined : int
        Number of replicates in which some fit has no optimum, which are not used.
    seed : int

    Examples
    --------
    >>> import fastpsr as fp
    >>> trials = fp.simulate.trial_list(200, 2_000, n_speakers=40, seed=0)
    >>> data = fp.Predictions.from_llrs(trials.y_true, 2.0 * trials.llr)
    >>> found = fp.select(data, {"none": None, "dp": fp.DirectionPreserving()})
    >>> found.chosen, round(found["none"].score, 4), found.choices
    ('dp', 0.3692, ('dp', 'dp', 'dp', 'dp', 'dp'))
    >>> round(found.calibrator.scale_, 3)
    0.702
    """

    table: tuple[Candidate, ...]
    chosen: str
    calibrator: Calibrator | ByCondition | None
    score: float
    low: float
    high: float
    optimism: float
    choices: tuple[str, ...]
    alike: tuple[str, ...]
    simplest: str
    left_out: dict[str, str]
    label: str
    confidence_level: float
    n_resamples: int
    n_undefined: int
    seed: int

    def __getitem__(self, name: str) -> Candidate:
        """Return the candidate of a name."""
        for candidate in self.table:
            if candidate.name == name:
                return candidate
        raise KeyError(name)

    def _content(self) -> dict[str, Any]:
        name = None if self.calibrator is None else repr(self.calibrator)
        return super()._content() | {"calibrator": name}

    def _columns(self) -> dict[str, Any]:
        rows = [candidate._content() for candidate in self.table]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def __repr__(self) -> str:
        return str(self)

    def _grid(self) -> Grid:
        lines = []
        for candidate in self.table:
            is_chosen = candidate.name == self.chosen
            rcl = "" if math.isnan(candidate.rcl) else number(candidate.rcl, "percent")
            difference = self._texts(candidate.difference, candidate.low, candidate.high)
            texts = [candidate.name + "*" * is_chosen, number(candidate.score), rcl]
            lines.append([*map(Cell, texts), *map(Cell, difference)])
        return Grid(["", self.label, "RCL", "difference", "interval"], lines).without("")

    def _texts(self, value: float, low: float, high: float) -> tuple[str, str]:
        """Return a value and its interval as text, which is "" without replicates."""
        ends = (low, high) if self.n_resamples else (None, None)
        return with_interval(value, *ends)

    def _below(self) -> list[str]:
        nested = " ".join(filter(None, self._texts(self.score, self.low, self.high)))
        optimism = number(self.optimism)
        lines = [f"chosen: {self.chosen}; nested {self.label} {nested}, optimism {optimism}"]
        if self.n_resamples:
            lines.append(
                f"not distinguishable at {100 * self.confidence_level:g} %: "
                f"{', '.join(self.alike)}; simplest: {self.simplest}"
            )
        if self.n_undefined:
            lines.append(
                f"{self.n_undefined:,} of {self.n_resamples:,} replicates are left out: some fit "
                "has no optimum there"
            )
        return lines + [f"left out: {name}, {why}" for name, why in self.left_out.items()]


@with_hints
def select(
    predictions: Data,
    candidates: Candidates,
    rule: ScoringRule | None = None,
    train: CrossFit | None = None,
    *,
    by: By | None = None,
    n_resamples: int = 0,
    confidence_level: float = 0.95,
    resampling: Resampling | None = None,
    seed: int | None = None,
    progress: bool | Progress | None = None,
) -> Selection:
    """Choose the calibrator with the lowest proper score, and evaluate the choice.

    The best calibrator is the one with the lowest expected score after calibration, as long as it
    was neither trained nor chosen on the same samples (Ferrer and Ramos, 2024). All candidates
    are cross-fitted, and the lowest score is chosen. This score is too low, since it is the least
    of several (Varma and Simon, 2006). Therefore the choice is repeated for each fold without its
    samples, by fits to the others, and the fold is scored with what was chosen for it.

    Parameters
    ----------
    predictions : Predictions or PartitionedPredictions
        Labeled.
    candidates : dict of name to calibrator
        Of this package or your own; None for no calibration. Of these ``ByCondition`` has a
        calibrator for each condition: beside the calibrator for all, the difference of both is what
        conditions gain.
    rule : ScoringRule, optional
        By default ``fp.rules.Log()``.
    train : CrossFit, optional
        Folds of samples, groups or pairs of speakers, at least 3; by default ``CrossFit()``, of 5
        folds. With a pair of groups use about 10: a fit leaves out the speakers of up to four.
    by : str, list of str, or dict of name to array-like of shape (N,), optional
        Columns of the predictions, or ids by name: conditions, for ``ByCondition``.
    n_resamples : int
        Number of bootstrap replicates, with all calibrators fitted again; 0 for no intervals.
    confidence_level : float
    resampling : IID, Clusters, TwoWay or another, optional
        Resampling scheme. By default samples are drawn.
    seed : int, optional
    progress : bool or callable, optional
        Whether to show progress on stderr, by default in a terminal or a notebook after a second;
        or a callable that is called with the replicates done and their total.

    Returns
    -------
    Selection
        Its `calibrator` is fitted to all data.

    Raises
    ------
    ValueError
        For `resampling` or `seed` without `n_resamples`; for data that a candidate is not defined
        for, or for which a fit has no optimum; for rules that are no proper scoring rules, such as
        ECE; for folds that cannot be left out in pairs; for `by` without ``ByCondition``, or the
        other way round.

    Warns
    -----
    RuntimeWarning
        If some fit has no optimum in replicates, which are left out.

    Notes
    -----
    The nested score belongs to the procedure: its choice may differ from fold to fold.
    Fits are shared: with F folds there are F + F (F - 1) / 2 for each candidate. Where losses
    follow from sums, samples are read once for all of them. A fit of ``Spline`` is as many fits as
    penalties are tried, so that it takes most of the time of replicates.

    Intervals of differences use the same draws for all, with calibrators fitted again and the
    choice held fixed: ``difference +- t x standard error``, with t the quantile of the largest
    studentized deviation of the replicates, so that they hold for all candidates at once. The
    interval of the nested score is the percentile interval, with a choice in every replicate.

    Raw scores have no score before calibration: None, and calibrators of posteriors, are left out.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841, section 2.5; S. Varma and R. Simon, "Bias in
    error estimation when using cross-validation for model selection", BMC Bioinformatics 7, 2006,
    doi:10.1186/1471-2105-7-91.

    Examples
    --------
    >>> import fastpsr as fp
    >>> trials = fp.simulate.trial_list(200, 2_000, n_speakers=40, seed=0)
    >>> data = fp.Predictions.from_llrs(trials.y_true, 2.0 * trials.llr)
    >>> candidates = {"none": None, "dp": fp.DirectionPreserving(), "pav": fp.PAV(laplace=True)}
    >>> print(fp.select(data, candidates))
             NCE       RCL  difference
    none  0.3692   0.000 %      0.2824
    dp*   0.0868  76.491 %      0.0000
    pav   0.0939  74.571 %      0.0071
    chosen: dp; nested NCE 0.0868, optimism 0.0000
    """
    check_data(predictions)
    rule = Log() if rule is None else rule
    check_rule(rule)
    train = CrossFit() if train is None else train
    check_instance("train", train, CrossFit, "a CrossFit")
    method: Method = "percentile" if n_resamples else "auto"
    settings = Intervals.if_any(n_resamples, confidence_level, method, resampling, seed)
    report = as_progress(progress)
    compared, left_out = _compared(candidates, predictions, by)
    data = mapped(predictions, _AsLLRs()) if predictions.kind == "raw scores" else predictions
    on_data, replicates = nested_choices(compared, rule, train, data, settings, report)
    names = list(compared)
    expected, scores, nested = on_data.expected[:, 0], on_data.scores[:, 0], on_data.nested[0]
    best = int(np.argmin(scores))
    differences = on_data.differences(best)[:, 0]
    ends, nested_ends, n_undefined = np.full((len(names), 2), np.nan), (np.nan, np.nan), 0
    alike = [names[best]]
    if replicates is not None:
        n_undefined = n_resamples - replicates.nested.size
        ends = _simultaneous_ends(differences, replicates.differences(best), confidence_level)
        alike = [name for name, (low, high) in zip(names, ends, strict=True) if low <= 0.0 <= high]
        nested_ends = percentile(replicates.nested, confidence_level)
    raw = [loss for name, loss in zip(names, expected, strict=True) if candidates[name] is None]
    losses = [np.nan] * len(names)  # of raw scores, which have no score without calibration
    if predictions.kind != "raw scores":
        raw = raw or [ExpectedScore(rule, normalized=False)(predictions)]
        losses = [relative_loss(raw[0], loss) for loss in expected]
    numbers = zip(expected, scores, losses, differences, *ends.T, strict=True)
    table = tuple(
        Candidate(name, *map(float, of_candidate))
        for name, of_candidate in zip(names, numbers, strict=True)
    )
    fitted = {name: _fitted(candidates[name], predictions, by) for name in alike}
    return Selection(
        table=table,
        chosen=names[best],
        calibrator=fitted[names[best]],
        score=float(nested),
        low=float(nested_ends[0]),
        high=float(nested_ends[1]),
        optimism=float(nested - scores[best] if np.isfinite(nested) else np.nan),
        choices=tuple(names[k] for k in on_data.winners[0]),
        alike=tuple(alike),
        simplest=min(alike, key=lambda name: _n_parameters(fitted[name])),
        left_out=left_out,
        label=f"N{rule.label}",
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        n_undefined=n_undefined,
        seed=0 if settings is None else settings.seed,
    )


def _compared(
    candidates: Candidates, data: Data, by: By | None
) -> tuple[dict[str, Calibrator], dict[str, str]]:
    """Return calibrators to cross-fit by candidate, and reasons for skipping the others."""
    if not isinstance(candidates, Mapping) or not candidates:
        raise ArgumentError(
            "candidates", f"must be a dict of name to calibrator, or to None, not {candidates!r}"
        )
    if by is not None and not any(isinstance(each, ByCondition) for each in candidates.values()):
        rule = "is for candidates by condition, but there are none"
        raise ArgumentError("by", rule, remedy="pass ByCondition(calibrator) among them")
    compared: dict[str, Calibrator] = {}
    left_out = {}
    for name, candidate in candidates.items():
        try:
            calibrator = _untrained(candidate, data, by)
        except ArgumentError as error:
            if error.argument != "calibrator":
                raise
            raise error.renamed(f"candidates[{name!r}]") from None
        if data.kind == "raw scores" and (candidate is None or calibrator.needs_posteriors):
            left_out[name] = "which needs posteriors: raw scores have none"
            continue
        calibrator.check_accepts(data)
        compared[name] = calibrator
    if not compared:
        raise ArgumentError(
            "candidates", "must contain a calibrator that takes raw scores, such as PAV()"
        )
    return compared, left_out


class _AsLLRs(Transform):
    """Raw scores as if they were LLRs: for calibrators that take raw scores it is the same."""

    kind: Kind = "likelihoods"

    def __call__(self, part: Part) -> Predictions:
        return part.predictions.replace_scores("likelihoods", part.predictions.scores)


def _simultaneous_ends(differences: Floats, replicates: Floats, level: float) -> Floats:
    """Return the ends (C, 2) of intervals of differences that hold together.

    The chosen one differs from itself by 0. Where replicates are infinite, so are the ends.
    """
    ends = np.stack([differences, differences], axis=1)
    is_finite = np.isfinite(replicates).all(axis=1) & np.isfinite(differences)
    spread = np.zeros(len(differences))
    spread[is_finite] = replicates[is_finite].std(axis=1, ddof=1)
    varies = spread > 0.0
    if varies.any():
        deviations = replicates[varies] - differences[varies, None]
        largest = np.abs(deviations / spread[varies, None]).max(axis=0)
        reach = float(np.quantile(largest, level)) * spread[varies]
        ends[varies] += np.stack([-reach, reach], axis=1)
    ends[~is_finite & np.isfinite(differences)] = [-np.inf, np.inf]
    return ends


def _untrained(
    candidate: Calibrator | FitTransform | ByCondition | None, data: Data, by: Any
) -> Calibrator:
    """Return the calibrator to cross-fit for a candidate."""
    if candidate is None:
        return NoCalibration()
    if not isinstance(candidate, ByCondition):
        return as_calibrator(candidate)
    if isinstance(candidate.calibrator, LinearFusion):
        rule = "must be of one system"
        raise ArgumentError("candidates", rule, remedy="compare() what cross_fit returns")
    return candidate.on_rows(data, by)[0]


def _fitted(
    candidate: Calibrator | FitTransform | ByCondition | None, data: Data, by: Any
) -> Calibrator | ByCondition | None:
    if isinstance(candidate, ByCondition):
        return candidate.fit(data, by)
    return None if candidate is None else as_calibrator(candidate).fit(data)


def _n_parameters(fitted: Calibrator | ByCondition | None) -> float:
    """Return how many numbers a fit has found; infinity for a calibrator of the caller's own."""
    if fitted is None:
        return 0.0
    if isinstance(fitted, ByCondition):
        return sum(map(_n_parameters, (fitted.pooled_, *fitted.own_)))
    attributes = {
        name: getattr(fitted, name) for name in fitted.fitted_names if name not in _SETTINGS
    }
    n = sum(np.size(values) for values in attributes.values())
    if "bias_" in attributes:  # which sum to 0, or are 0 by definition
        n -= np.size(attributes["bias_"]) if not np.any(attributes["bias_"]) else 1
    return float(n) or np.inf
