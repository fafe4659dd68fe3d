"""Content of a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from numpy.typing import ArrayLike

from fastpsr.caching import cached_property
from fastpsr.calibration import LinearFusion
from fastpsr.checks import check_instance
from fastpsr.data import Predictions
from fastpsr.errors import ArgumentError
from fastpsr.evaluation import Evaluation
from fastpsr.metrics import MinDCF

#: Name of a system that has none.
UNNAMED = "predictions"


@dataclass(frozen=True, eq=False)
class Report:
    """An evaluation to be written as a page.

    Attributes
    ----------
    evaluation : Evaluation
        The metrics and differences.
    predictions : mapping of str to Predictions
        Predictions for the figures, by system: all or none are binary. If some are raw scores,
        figures only show ranks. Systems without predictions appear only in the tables. An unnamed
        system takes the name of the single entry.
    by_condition : mapping of str to mapping of str to Predictions
        Predictions by system and condition, for DET curves of the conditions.
    operating_points : sequence of MinDCF
        Detection costs of the evaluation: listed in a table, and marked on the DET curves.
    spoof : mapping of str to array-like of bool
        By system, which samples of its predictions are spoofed trials. Figures show them
        separately from the non-targets.
    fusion : LinearFusion, optional
        The fitted binary fusion that is evaluated, from :func:`fastpsr.evaluate_fusion`.
    title : str
        Heading; by default it names the systems.
    read : sequence of str
        The input and how it was interpreted, one line each; lines that begin with "warning: " are
        folded.
    text : sequence of str
        Paragraphs that explain the results.
    command : str
        Command that reproduces the report.
    made : str
        Date and time.
    base : 10, optional
        Base of the logarithms of LLRs; by default natural.

    Raises
    ------
    ValueError
        For predictions of other systems, unlabeled predictions, and a mix of binary and multiclass
        predictions.
    """

    evaluation: Evaluation
    predictions: Mapping[str, Predictions] = field(default_factory=dict)
    by_condition: Mapping[str, Mapping[str, Predictions]] = field(default_factory=dict)
    operating_points: Sequence[MinDCF] = ()
    spoof: Mapping[str, ArrayLike] = field(default_factory=dict)
    fusion: LinearFusion | None = None
    title: str = ""
    read: Sequence[str] = ()
    text: Sequence[str] = ()
    command: str = ""
    made: str = ""
    base: int | None = None

    def __post_init__(self) -> None:
        are_binary = set()
        for name, samples in self.predictions.items():
            if name not in self.systems:
                systems = ", ".join(self.systems)
                raise ArgumentError("predictions", f"must be of {systems}, not of {name!r}")
            check_instance(f"predictions[{name!r}]", samples, Predictions, "Predictions")
            if samples.y_true is None:
                raise ArgumentError(f"predictions[{name!r}]", "must be labeled")
            are_binary.add(samples.n_classes == 2)
        if len(are_binary) > 1:
            raise ArgumentError("predictions", "must all be binary or none")

    @cached_property
    def named(self) -> Evaluation:
        """The evaluation, with a name for each system."""
        names = {group.system: group.system for group in self.evaluation.groups if group.system}
        return self.evaluation.renamed({"": next(iter(self.predictions), UNNAMED), **names})

    @property
    def systems(self) -> list[str]:
        """Names of the systems."""
        return list(dict.fromkeys(group.system or "" for group in self.named.groups))

    @property
    def has_conditions(self) -> bool:
        """Whether there are results of conditions."""
        return any(group.group is not None for group in self.evaluation.groups)

    def metric_of(self, role: str) -> str | None:
        """Return the name of the first metric of a role, None if there is none."""
        return next((row.metric for row in self.named.rows if row.role == role), None)

    @property
    def heading(self) -> str:
        """The title, or which systems are evaluated or compared."""
        if self.title:
            return self.title
        is_comparison = any(not pair.is_of_groups for pair in self.evaluation.differences)
        what = "Comparison" if is_comparison else "Evaluation"
        *first, last = self.systems
        if len(first) > 2:
            return f"{what} of {len(self.systems)} systems"
        return f"{what} of {', '.join(first)} and {last}" if first else f"{what} of {last}"

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
