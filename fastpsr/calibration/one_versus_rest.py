"""Calibrators of two classes for more: each class against the rest, and rows normalized."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from fastpsr import checks
from fastpsr.calibration.base import Calibrator, require_fitted
from fastpsr.calibration.pav import PAV
from fastpsr.counts import begin
from fastpsr.data import Data, Predictions
from fastpsr.data.one_class import log_odds_against_rest, one_against_rest
from fastpsr.errors import ArgumentError


@dataclass(frozen=True, eq=False, repr=False)
class OneVersusRest(Calibrator):
    """A calibrator of two classes for the posterior of each class against the rest, normalized.

    The K calibrated posteriors of a sample are divided by their sum; if all are 0, each becomes
    1/K. This is a heuristic: the normalized posteriors are not what any of the fits optimizes, so
    that calibration may make a proper score worse, also on the training data. Prefer
    :class:`fastpsr.DirectionPreserving`, :class:`fastpsr.VectorScaling` or
    :class:`fastpsr.MatrixScaling`.

    Parameters
    ----------
    calibrator : PAV, HistogramBinning, BetaCalibration, VennAbers, Spline or another
        A calibrator of two classes.

    Attributes
    ----------
    maps_ : tuple of calibrator
        Calibrator of each class; for two classes of class 1, which is the calibrator itself.

    Raises
    ------
    ValueError
        From ``fit``, for data of several classes other than posteriors.

    References
    ----------
    B. Zadrozny and C. Elkan, "Transforming classifier scores into accurate multiclass probability
    estimates", KDD 2002, doi:10.1145/775047.775151.

    Examples
    --------
    >>> import fastpsr as fp
    >>> systems = fp.simulate.gaussian_classes(2000, n_classes=3, seed=0)
    >>> data = fp.Predictions.from_log_posteriors(systems.y_true, systems.mcs)
    >>> fitted = fp.OneVersusRest(fp.PAV()).fit(data)
    >>> round(fp.CrossEntropy()(data), 3), round(fp.CrossEntropy()(fitted.transform(data)), 3)
    (1.05, 0.371)
    """

    calibrator: Calibrator = field(default_factory=PAV)
    maps_: tuple[Calibrator, ...] = field(init=False, repr=False)
    fitted_names = ("maps_",)
    fitted_nested = ("maps_",)

    def __post_init__(self) -> None:
        what = "a calibrator of this package, such as PAV()"
        checks.check_instance("calibrator", self.calibrator, Calibrator, what)

    @classmethod
    def suits(cls, data: Data) -> bool:
        return data.n_classes == 2 or data.kind == "posteriors"

    def check_accepts(self, data: Data) -> None:
        if data.n_classes == 2:
            self.calibrator.check_accepts(data)
        elif data.kind != "posteriors":
            rule = f"must be posteriors for {self.name}, not {data.kind}"
            raise ArgumentError("predictions", rule, remedy="pass priors, and convert them")

    def check_fitted(self) -> None:
        require_fitted("maps_", all(isinstance(fitted, Calibrator) for fitted in self.maps_))
        require_fitted("maps_", len(self.maps_) not in (0, 2))

    def _fit_data(self, data: Data, start: Self | None) -> dict[str, Any]:
        maps = []
        classes = [1] if data.n_classes == 2 else range(data.n_classes)
        for k in classes:
            of_class = one_against_rest(data, k)
            begin(of_class)
            maps.append(self.calibrator.fitted_to(of_class))
        return {"maps_": tuple(maps)}

    def _transform(self, predictions: Predictions) -> Predictions:
        n_classes, n_fitted = predictions.n_classes, max(len(self.maps_), 2)
        if n_classes != n_fitted:
            rule = f"must have the {n_fitted} classes of the fit, not {n_classes}"
            raise ArgumentError("predictions", rule)
        if n_classes == 2:
            return self.maps_[0]._transform(predictions)
        values = np.empty(predictions.scores.shape)
        for k, fitted in enumerate(self.maps_):
            log_odds = log_odds_against_rest(predictions, k)
            of_class = fitted._transform(Predictions.from_logits(None, log_odds))
            values[:, k] = of_class.log_posteriors[:, 1]
        largest = values.max(axis=1, keepdims=True)
        values[largest[:, 0] == -np.inf] = 0.0  # all are equally likely
        return predictions.replace_scores("posteriors", checks.log_softmax("scores", values)[0])
