"""Areas under curves of ranks: of the ROC, whole or partial, and of precision over recall."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any, ClassVar

import numpy as np

from fastpsr import checks
from fastpsr.counts import begin
from fastpsr.counts.ranks import RankTable, rank_area, rank_table
from fastpsr.counts.sums import Sums
from fastpsr.data import Data, Floats, PartitionedPredictions
from fastpsr.data.one_class import check_class, class_number, one_against_one, one_against_rest
from fastpsr.errors import ArgumentError
from fastpsr.interval_rule import IntervalRule
from fastpsr.metrics.ranks import RankMetric

#: A number per pair of classes, or per class, and its weight in the mean.
Weighted = list[tuple[float, float]]


class _Area(RankMetric[Weighted | RankTable]):
    """An area of two classes, of one class against the rest, or its mean over the classes."""

    class_: int | str | None
    means: ClassVar[tuple[Any, ...]]

    unit = "probability"
    higher_is_better = True
    value_range = (0.0, 1.0)
    interval_rule = IntervalRule("jackknife", "jackknife", "logit", spread="halves")

    def __post_init__(self) -> None:
        if self.class_ is not None:
            check_class(self.class_)

    def area_of(self, data: Data) -> float:
        """Return the area of binary data."""
        return self.area(rank_table(data, self.resolution))

    @abstractmethod
    def area(self, table: RankTable) -> float:
        """Return the area of a table."""

    def sums(self, data: Data) -> Sums | None:
        return super().sums(data) if self.class_ is None else None

    def total(self, data: Data) -> Weighted | RankTable:
        """Return the areas of the classes, or of pairs of these, with their weights."""
        if self.class_ is None:
            checks.check_binary(self.label, data.n_classes, takes_class=True)
            return [(self.area_of(data), 1.0)]
        areas = []
        for k, binary, weight in self._binary(data):
            begin(binary)
            if not binary.class_weights[1]:
                raise self._absent(data, k)
            areas.append((self.area_of(binary), weight))
        return areas

    def _binary(self, data: Data) -> Iterator[tuple[Any, Data, float]]:
        """Yield each class, or the first of each pair, with its binary data and its weight."""
        if self.class_ in self.means and self.class_ in (data.class_names or ()):
            rule = f"must be a number: {self.class_!r} is the name of a class and of a mean"
            raise ArgumentError("class_", rule)
        if self.class_ == "ovo" and "ovo" in self.means:
            absent = np.flatnonzero(data.class_weights == 0.0)
            if absent.size:
                raise self._absent(data, absent[0])
            if data.n_classes == 2:  # raw scores have it, too
                yield 1, data, 1.0
                return
            for k, rival in permutations(range(data.n_classes), 2):
                yield k, one_against_one(data, k, rival), 1.0
            return
        classes: Iterable[int] = range(data.n_classes)
        if self.class_ is not None and self.class_ not in self.means:
            classes = [class_number(data, self.class_, self.means)]
        for k in classes:
            weight = float(data.priors[k]) if self.class_ == "weighted" else 1.0
            yield k, one_against_rest(data, k), weight

    def _absent(self, data: Data, k: int) -> ArgumentError:
        """Return the error of a class without samples."""
        remedy = f"take classes that occur one by one, {type(self).__name__}(class_=c)"
        rule = f"must have samples of {data.class_name(k)} for {self.label}, but none has weight"
        return ArgumentError("y_true", rule, remedy=remedy)

    def finish(self, summary: Weighted | RankTable) -> float:
        if isinstance(summary, RankTable):
            return self.area(summary)
        total: float = sum(area * weight for area, weight in summary)
        return total / sum(weight for _, weight in summary)


@dataclass(frozen=True, eq=False)
class AUC(_Area):
    """Area under the ROC: the probability that a target scores above a non-target.

    Ties count half.

    Parameters
    ----------
    class_ : int or str, optional
        For more than two classes: the positive class, by its number, 0 to K-1, or its label (text,
        also if `classes` are numbers: of ``classes=[5, 6, 7]`` take 0 or "5"), scored by the
        log-odds of its posterior; "macro", the unweighted mean over all classes; "weighted", their
        mean at the priors; or "ovo", one against one, the mean over all ordered pairs of classes of
        the area of the first one's posterior among samples of both; of two classes the plain area.
    max_fpr, max_fnr : float, optional
        Only one of them, above 0 and at most 1: the area at false-positive rates up to `max_fpr`,
        or at false-negative rates (miss rates) up to `max_fnr`, standardized so that 0.5 remains
        the value of uninformative scores, and 1 the value of perfect scores.

    Returns
    -------
    float
        A fraction; 0.5 for uninformative scores.

    Raises
    ------
    ValueError
        For more than two classes without `class_`, and if a class has no samples.

    Notes
    -----
    Replicates of several classes are computed from reweighted samples, not from counts.

    Posteriors of shape (N, 2) rank by the log-odds of both columns. Where column 1 is rounded to 1
    and column 0 still differs, they are not tied as in column 1 alone, which scikit-learn's AUC
    uses; pass ``q[:, 1]`` for that number.

    References
    ----------
    D. McClish, "Analyzing a portion of the ROC curve", Medical Decision Making 9, 1989,
    doi:10.1177/0272989X8900900307 (partial areas); D. Hand and R. Till, "A simple generalisation
    of the area under the ROC curve for multiple class classification problems", Machine Learning
    45, 2001, doi:10.1023/A:1010920819831 ("ovo").

    Examples
    --------
    >>> import fastpsr as fp
    >>> y, scores = [0, 0, 1, 1], [1.0, 3.0, 2.0, 4.0]
    >>> fp.AUC()(y, scores), fp.AUC(max_fpr=0.5)(y, scores)
    (0.75, 0.6666666666666666)
    """

    class_: int | str | None = None
    max_fpr: float | None = None
    max_fnr: float | None = None

    means: ClassVar[tuple[Any, ...]] = ("macro", "weighted", "ovo")
    meaning = "area under the ROC"
    reference_value = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("max_fpr", "max_fnr"):
            if (limit := getattr(self, name)) is not None:
                limit = checks.check_number(name, limit, 5e-324, 1.0, "lie above 0, up to 1")
                object.__setattr__(self, name, limit)
        if self.max_fpr is not None and self.max_fnr is not None:
            raise ArgumentError("max_fnr", "must be left out where max_fpr is given")

    @property
    def label(self) -> str:
        limits = {"FPR": self.max_fpr, "FNR": self.max_fnr}
        parts = [] if self.class_ is None else [str(self.class_)]
        parts += [f"{name}<={limit:g}" for name, limit in limits.items() if limit is not None]
        return f"AUC({', '.join(parts)})" if parts else "AUC"

    def without_each_sample(self, data: Data) -> Floats | None:
        if (self.class_, self.max_fpr, self.max_fnr) != (None, None, None):
            return None
        samples = data.compute() if isinstance(data, PartitionedPredictions) else data
        samples = samples.present()
        scores, is_target = samples.scores, samples.labels == 1
        targets, nontargets = scores[is_target], scores[~is_target]
        pairs_won = np.empty(len(samples))  # pairs of a sample in which the target scores above
        pairs_won[is_target] = _ranks_among(nontargets, targets)
        pairs_won[~is_target] = targets.size - _ranks_among(targets, nontargets)
        others_of_class = np.where(is_target, targets.size - 1, nontargets.size - 1)
        others = np.where(is_target, nontargets.size, targets.size)
        with np.errstate(invalid="ignore"):  # nan without a target or a non-target
            areas = (pairs_won[is_target].sum() - pairs_won) / (others_of_class * others)
        return np.asarray(areas)

    example_arguments = ((), (None, 0.1), (None, None, 0.2))

    def area_of(self, data: Data) -> float:
        if self.max_fpr is None and self.max_fnr is None:
            return rank_area(data)
        return super().area_of(data)

    def area(self, table: RankTable) -> float:
        if self.max_fpr is not None:
            return table.partial_area(self.max_fpr, of_misses=False)
        if self.max_fnr is not None:
            return table.partial_area(self.max_fnr, of_misses=True)
        return table.area


@dataclass(frozen=True, eq=False)
class AveragePrecision(_Area):
    """Area under precision over recall: the mean precision at the score of each target.

    ``sum_n (R_n - R_{n-1}) P_n`` over the thresholds at distinct scores from high to low, without
    interpolation. Targets with equal scores share their precision.

    Parameters
    ----------
    class_ : int or str, optional
        For more than two classes: a class, "macro" or "weighted", as in :class:`fastpsr.AUC`.

    Returns
    -------
    float
        A fraction; the prior of class 1 for uninformative scores.

    Raises
    ------
    ValueError
        For more than two classes without `class_`, and if a class has no samples.

    Notes
    -----
    Precision depends on the class frequencies: given priors take their place.

    Replicates of several classes are computed from reweighted samples, not from counts.

    References
    ----------
    K. Boyd, K. Eng and C. D. Page, "Area under the precision-recall curve: point estimates and
    confidence intervals", ECML PKDD 2013, doi:10.1007/978-3-642-40994-3_29.

    Examples
    --------
    >>> import fastpsr as fp
    >>> round(fp.AveragePrecision()([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 4)
    0.8333
    """

    class_: int | str | None = None

    means: ClassVar[tuple[Any, ...]] = ("macro", "weighted")
    resolution = "positives"
    meaning = "mean precision over recall"

    @property
    def label(self) -> str:
        return "AP" if self.class_ is None else f"AP({self.class_})"

    def area(self, table: RankTable) -> float:
        return table.average_precision


def _ranks_among(scores: Floats, values: Floats) -> Floats:
    """Return how many scores lie below each value; equal ones count half."""
    ordered = np.sort(scores)
    n_below, n_up_to = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    return np.asarray(0.5 * (n_below + n_up_to))
