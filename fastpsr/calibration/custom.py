"""Custom calibrators: any object with ``fit`` and ``transform``."""

import copy
from dataclasses import dataclass
from typing import Any, Protocol

from fastpsr.calibration.base import Calibrator
from fastpsr.calibration.fittable import Fittable
from fastpsr.data import Data, Predictions
from fastpsr.errors import ArgumentError


class FitTransform(Protocol):
    """Interface of a custom calibrator, for data in memory."""

    def fit(self, predictions: Predictions, /) -> Any:
        """Return a fitted calibrator, trained on labeled predictions; it may be the object itself.

        It must use the sample weights: `sample_weight`, which includes the number of draws of each
        sample in a bootstrap replicate, or ``balanced_weights()``, which is also adjusted to given
        priors. Samples of weight 0 are removed beforehand.
        """

    def transform(self, predictions: Predictions, /) -> Predictions:
        """Return calibrated predictions of the same samples.

        For posteriors it returns posteriors, for likelihoods and raw scores likelihoods (LLRs).
        Labels, weights and priors may be omitted: those of the input are used.
        """
        ...


def as_calibrator(calibrator: Calibrator | FitTransform) -> Calibrator:
    """Return a calibrator of the package unchanged, and wrap a custom one."""
    if isinstance(calibrator, Calibrator):
        return calibrator
    if isinstance(calibrator, Fittable):  # a fusion, or by condition
        raise ArgumentError(
            "calibrator",
            f"must be fitted to predictions alone, and {calibrator.name} is not",
            remedy="calibrate what cross_fit returns for it",
        )
    methods = (getattr(calibrator, name, None) for name in ("fit", "transform"))
    if isinstance(calibrator, type) or not all(map(callable, methods)):
        given = f"{calibrator!r}" if isinstance(calibrator, (str, int, float)) else ""
        if isinstance(calibrator, type):
            given = f"the class {calibrator.__name__}: make one, {calibrator.__name__}(...)"
        raise ArgumentError(
            "calibrator",
            "must be a calibrator, such as PAV(), or an object with fit and transform, not "
            f"{given or type(calibrator).__name__}",
        )
    return _Custom(calibrator)


@dataclass(frozen=True, eq=False)
class _Custom(Calibrator):
    calibrator: Any
    bins_posteriors = True  # posteriors are passed as given

    @property
    def name(self) -> str:
        """Name of the user's class."""
        return type(self.calibrator).__name__

    def require_classes(self, data: Data) -> None:
        """Accept all data: the user's fit raises if it needs more."""

    def _fit(self, samples: Predictions) -> dict[str, Any]:
        # a copy: folds are fitted one after another, and fit may return the object itself
        fitted = copy.deepcopy(self.calibrator).fit(samples)
        if not callable(getattr(fitted, "transform", None)):
            raise ArgumentError(
                "calibrator",
                f"must return a fitted calibrator from fit, but {self.name}.fit returned "
                f"{type(fitted).__name__}",
                remedy="end fit with return self",
            )
        return {"calibrator": fitted}

    def _transform(self, predictions: Predictions) -> Predictions:
        output = self.calibrator.transform(predictions)
        wanted = (len(predictions), predictions.n_classes, self.output_kind)
        if not isinstance(output, Predictions):
            returned = type(output).__name__
        elif (len(output), output.n_classes, output.kind) != wanted:
            returned = f"{len(output):,} samples of {output.n_classes} classes, {output.kind}"
        else:
            return predictions.replace_scores(output.kind, output.scores)
        make = "from_log_posteriors" if self.output_kind == "posteriors" else "from_llrs"
        raise ArgumentError(
            "calibrator",
            f"must return Predictions of the same samples as {self.output_kind} from transform, "
            f"{wanted[0]:,} of {wanted[1]} classes, but {self.name}.transform returned {returned}",
            remedy=f"make them with Predictions.{make}, say",
        )
