"""The highest recall with at least a precision, and its threshold."""

from dataclasses import dataclass, replace

import numpy as np

from fastpsr import checks
from fastpsr.counts.ranks import RankTable, rank_table
from fastpsr.data import Data
from fastpsr.interval_rule import AT_A_POINT
from fastpsr.metrics.operating_points import (
    OperatingPoint,
    PointMetric,
    above_all_scores,
    point_at,
)


@dataclass(frozen=True, eq=False)
class RecallAtPrecision(PointMetric[RankTable]):
    """The highest recall of a threshold whose precision is at least a limit.

    Parameters
    ----------
    precision : float
        Least fraction of class 1 among what is accepted, above 0 and at most 1.

    Returns
    -------
    float
        A fraction; 0 if no threshold that accepts a sample has this precision.

    Raises
    ------
    ValueError
        For a limit out of range, more than 2 classes, or if a class has no samples.

    Notes
    -----
    ``operating_point(predictions)`` returns the lowest threshold with this precision, and
    ``fp.Threshold(fp.RecallAtPrecision(p))`` is this threshold as a metric. The precision at a
    threshold that is chosen on the same data is optimistic. Precision refers to the priors of the
    predictions, if given.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_raw_scores([0, 0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0, 5.0])
    >>> fp.RecallAtPrecision(0.6)(data), fp.RecallAtPrecision(0.9)(data)
    (1.0, 0.5)
    >>> fp.RecallAtPrecision(0.9).operating_point(data)
    OperatingPoint(threshold=5.0, p_miss=0.5, p_fa=0.0)
    """

    precision: float

    unit = "fraction"
    higher_is_better = True
    value_range = (0.0, 1.0)
    interval_rule = replace(AT_A_POINT, scale="logit")
    resolution = "positives"

    def __post_init__(self) -> None:
        rule = "lie above 0, up to 1"
        number = checks.check_number("precision", self.precision, 5e-324, 1.0, rule)
        object.__setattr__(self, "precision", number)

    @property
    def label(self) -> str:
        return f"recall(precision>={self.precision:g})"

    @property
    def meaning(self) -> str:
        return f"highest recall with a precision of at least {self.precision:g}"

    example_arguments = ((0.5,), (0.9,))

    def total(self, data: Data) -> RankTable:
        return rank_table(data, "positives")

    def _place(self, table: RankTable) -> int:
        """Return the lowest cell with this precision, or the number of cells."""
        precision, _ = table.precision_and_recall("precision")
        is_enough = precision >= self.precision * (1.0 - 1e-12)  # sums of weights are rounded
        is_enough[:-1] &= table.positives > 0.0  # a threshold is a score of class 1
        return int(np.argmax(is_enough))

    def finish(self, summary: RankTable) -> float:
        _, recall = summary.precision_and_recall("precision")
        return float(recall[self._place(summary)])

    def threshold_of(self, table: RankTable) -> float:
        place = self._place(table)
        return float(table.lowest[place]) if place < table.lowest.size else table.above_all

    def point(self, data: Data) -> OperatingPoint:
        table = rank_table(data, "positives")
        place, totals = self._place(table), table.class_totals("precision")
        p_miss = float(table.positives[:place].sum() / totals[1])
        p_fa = float(table.negatives[place:].sum() / totals[0])
        is_score = place < table.lowest.size
        threshold = float(table.lowest[place]) if is_score else above_all_scores(data)
        return point_at(data, threshold, p_miss, p_fa)
