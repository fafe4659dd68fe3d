"""The calibrator that would remove most of a score, among calibrators with a fast fit."""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self

from fastpsr.calibration import NAMED
from fastpsr.counts import begin, outcomes
from fastpsr.data import Data, Predictions
from fastpsr.errors import without_warnings
from fastpsr.metrics import CalibrationLoss

# what shares a pass over the samples, or takes less than a second: `select` compares others, too
_BINARY = ("temperature", "dp", "beta")
_OF_CLASSES = ("temperature", "dp", "vector", "matrix")
_LARGEST_WORK = 5e6  # rows times parameters of several classes


@dataclass(frozen=True)
class BestCalibrator:
    """The calibrator with the lowest cross-fitted score of several.

    Attributes
    ----------
    name : str
        Its name on the command line, or how it is made.
    saving : float
        Percent of the score that it would remove: the relative calibration loss (RCL) under it.
    among : tuple of str
        Names of the compared calibrators.
    label : str
        Name of the score.
    """

    name: str
    saving: float
    among: tuple[str, ...]
    label: str
    unit: ClassVar[str] = "percent"

    @classmethod
    def of(cls, loss: CalibrationLoss, saving: float, rivals: dict[str, float]) -> Self | None:
        """Return the best of the calibrator of a loss and others; None if none has a value."""
        savings = ({} if math.isnan(saving) else {_name_of(loss): saving}) | rivals
        if not savings:
            return None
        best = max(savings, key=lambda name: savings[name])
        return cls(best, savings[best], tuple(savings), loss.rule.label)

    def __str__(self) -> str:
        """Return the line that a table has below its metrics."""
        compared = ", ".join(self.among)
        if self.saving <= 0.0:
            return f"calibration would remove nothing; compared: {compared}"
        saved = f"{self.saving:.3f} % of {self.label}"
        return f"calibration by {self.name} would remove most: {saved}; compared: {compared}"


def savings_of_others(loss: CalibrationLoss, data: Data) -> dict[str, float]:
    """Return the relative calibration losses under other calibrators, by name.

    These are what suits the data and is fitted fast, by the rule and training of the loss: for data
    in parts without the calibrators that read them more often than a table does. Those that cannot
    be fitted, or have no value, are left out.
    """
    begin(data)
    n_classes, names = data.n_classes, [*_BINARY]
    if n_classes > 2:
        n_parameters = {"vector": n_classes, "matrix": n_classes**2}
        names = [
            name
            for name in _OF_CLASSES
            if n_parameters.get(name, 1) * len(data) <= _LARGEST_WORK
            and (isinstance(data, Predictions) or name not in n_parameters)
        ]
    others = {
        name: replace(loss, calibrator=NAMED[name])
        for name in names
        if NAMED[name].suits(data) and name != _name_of(loss)
    }
    functions = [partial(without_warnings()(other.value_on), data) for other in others.values()]
    savings = dict(zip(others, outcomes(functions, data), strict=True))
    return {
        name: saving.result
        for name, saving in savings.items()
        if saving.error is None and not math.isnan(saving.result)
    }


def _name_of(loss: CalibrationLoss) -> str:
    """Return the name of its calibrator on the command line, or how it is made."""
    text = repr(loss.calibrator)
    return next((name for name, named in NAMED.items() if repr(named) == text), text)
