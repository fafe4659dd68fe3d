"""Content of a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fastpsr.bootstrap import Resampling
from fastpsr.errors import ArgumentError
from fastpsr.evaluation import BestCalibrator, Difference, Intervals, Row
from fastpsr.evaluation.table import settings_of
from fastpsr.metrics import MinDCF
from fastpsr.predictions import Predictions

__all__ = ["Report", "Result"]


@dataclass(frozen=True, eq=False)
class Result:
    """The metrics of a system, in a condition.

    Attributes
    ----------
    system : str
        Name.
    rows : sequence of Row
        A metric each.
    condition : str
        Empty if there are no conditions. Figures show the first condition of each system.
    counts : mapping of str to int
        Numbers of samples by kind, such as targets.
    best_calibrator : BestCalibrator or None
        The calibrator that would save most.
    """

    system: str
    rows: Sequence[Row]
    condition: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    best_calibrator: BestCalibrator | None = None

    @property
    def place(self) -> str:
        """System and condition."""
        return f"{self.system}, {self.condition}" if self.condition else self.system

    def row(self, metric: str) -> Row | None:
        """Return the row of a metric, None if there is none."""
        return next((row for row in self.rows if row.metric == metric), None)


@dataclass(frozen=True, eq=False)
class Report:
    """An evaluation to be written as a page.

    Attributes
    ----------
    title : str
        Heading.
    results : sequence of Result
        At least one.
    predictions : mapping of str to Predictions
        Predictions for the figures, by system: all or none are binary. If some are raw scores,
        figures show ranks alone. Systems without predictions are only in the tables.
    by_condition : mapping of str to mapping of str to Predictions
        Predictions by system and condition, for DET curves of the conditions.
    operating_points : sequence of MinDCF
        Detection costs of the evaluation: stated in a table, and marked on the DET curves.
    read : sequence of str
        What was read and how it was interpreted, a line each.
    text : sequence of str
        Paragraphs that explain the results.
    intervals : Intervals or None
        How intervals were made.
    resampling : mapping of str to Resampling
        How samples are drawn for the bands of figures, by system, with the other settings of the
        intervals. Systems without have no bands.
    differences : sequence of Difference
        Between systems, on the same samples, and between conditions.
    command : str
        That makes the report again.
    made : str
        When.

    Raises
    ------
    ValueError
        For no results, unlabeled predictions, and predictions of unlike kinds.
    """

    title: str
    results: Sequence[Result]
    predictions: Mapping[str, Predictions] = field(default_factory=dict)
    by_condition: Mapping[str, Mapping[str, Predictions]] = field(default_factory=dict)
    operating_points: Sequence[MinDCF] = ()
    read: Sequence[str] = ()
    text: Sequence[str] = ()
    intervals: Intervals | None = None
    resampling: Mapping[str, Resampling] = field(default_factory=dict)
    differences: Sequence[Difference] = ()
    command: str = ""
    made: str = ""

    def __post_init__(self) -> None:
        if not self.results:
            raise ArgumentError("results", "must not be empty")
        are_binary = set()
        for name, samples in self.predictions.items():
            if not isinstance(samples, Predictions):
                raise ValueError(
                    f"predictions[{name!r}] must be Predictions, not {type(samples).__name__}"
                )
            if samples.y_true is None:
                raise ValueError(f"predictions[{name!r}] must be labeled")
            are_binary.add(samples.n_classes == 2)
        if len(are_binary) > 1:
            raise ArgumentError("predictions", "must all be binary or none")

    @property
    def settings(self) -> str:
        """How intervals were made; "" without."""
        rows = [row for result in self.results for row in result.rows]
        return settings_of(self.intervals, rows, self.differences)

    @property
    def systems(self) -> list[str]:
        """Names of the systems."""
        return list(dict.fromkeys(result.system for result in self.results))

    @property
    def pooled(self) -> list[Result]:
        """The first result of each system."""
        first: dict[str, Result] = {}
        for result in self.results:
            first.setdefault(result.system, result)
        return list(first.values())

    @property
    def drawn(self) -> Mapping[str, Predictions]:
        """The predictions as figures show them: all as raw scores if some are."""
        if not self.is_raw:
            return self.predictions
        return {
            name: samples.replace_scores("raw scores", samples.scores)
            for name, samples in self.predictions.items()
        }

    @property
    def is_raw(self) -> bool:
        """Whether only ranks are drawn, since some systems have raw scores."""
        return any(samples.kind == "raw scores" for samples in self.predictions.values())
