"""Calibrators of the user's own: any object with ``fit`` and ``transform``."""

import copy
from dataclasses import dataclass
from typing import Any, Protocol

from fastpsr.calibration.base import Calibrator
from fastpsr.errors import ArgumentError
from fastpsr.plans import Data
from fastpsr.predictions import Predictions

__all__ = ["FitTransform", "as_calibrator"]


class FitTransform(Protocol):
    """What a calibrator of the user's own has to offer, for data in memory."""

    def fit(self, predictions: Predictions, /) -> Any:
        """Return a fitted calibrator, trained on labeled predictions; it may be the object itself.

        Samples count by their weights: `sample_weight`, which the replicates of a bootstrap set to
        how often each sample was drawn, or ``balanced_weights()``, which has given priors worked
        in. Samples of weight 0 are left out before.
        """

    def transform(self, predictions: Predictions, /) -> Predictions:
        """Return calibrated predictions of the same samples.

        Posteriors for posteriors; for likelihoods and raw scores likelihoods (LLRs). Labels,
        weights and priors may be left out, as those of the input are kept.
        """
        ...


def as_calibrator(calibrator: Calibrator | FitTransform) -> Calibrator:
    """Return a calibrator of the package as it is, and one of the user's own as such a one."""
    if isinstance(calibrator, Calibrator):
        return calibrator
    methods = (getattr(calibrator, name, None) for name in ("fit", "transform"))
    if isinstance(calibrator, type) or not all(map(callable, methods)):
        found = f"{calibrator!r}" if isinstance(calibrator, (str, int, float)) else ""
        if isinstance(calibrator, type):
            found = f"the class {calibrator.__name__}: make one, {calibrator.__name__}(...)"
        raise ArgumentError(
            "calibrator",
            "must be a calibrator, such as PAV(), or an object with fit and transform, not "
            f"{found or type(calibrator).__name__}",
        )
    return _Own(calibrator)


@dataclass(frozen=True, eq=False)
class _Own(Calibrator):
    own: Any
    bins_posteriors = True  # posteriors are shown as they were given

    @property
    def name(self) -> str:
        """What the user's class is called."""
        return type(self.own).__name__

    def require_classes(self, data: Data) -> None:
        """Leave it to the user's own fit what data it needs."""

    def _fit(self, samples: Predictions) -> dict[str, Any]:
        # a copy: folds are fitted one after another, and fit may return the object itself
        fitted = copy.deepcopy(self.own).fit(samples)
        if not callable(getattr(fitted, "transform", None)):
            raise ArgumentError(
                "calibrator",
                f"must return a fitted calibrator from fit, but {self.name}.fit returned "
                f"{type(fitted).__name__}",
                remedy="end fit with return self",
            )
        return {"own": fitted}

    def _transform(self, predictions: Predictions) -> Predictions:
        made = self.own.transform(predictions)
        wanted = (len(predictions), predictions.n_classes, self.output_kind)
        if not isinstance(made, Predictions):
            found = type(made).__name__
        elif (len(made), made.n_classes, made.kind) != wanted:
            found = f"{len(made):,} samples of {made.n_classes} classes, {made.kind}"
        else:
            return predictions.replace_scores(made.kind, made.scores)
        make = "from_log_posteriors" if self.output_kind == "posteriors" else "from_llrs"
        raise ArgumentError(
            "calibrator",
            f"must return Predictions of the same samples as {self.output_kind} from transform, "
            f"{wanted[0]:,} of {wanted[1]} classes, but {self.name}.transform returned {found}",
            remedy=f"make them with Predictions.{make}, say",
        )
