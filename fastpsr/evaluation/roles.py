"""What a metric is, whatever it is called in a table."""

from typing import Any

from fastpsr.calibration import TrainOnTest
from fastpsr.calibration.pav import PAV
from fastpsr.metrics import EER, ActDCF, CalibrationLoss, Cllr, CrossEntropy, MinCllr, MinDCF
from fastpsr.metrics.defaults import LossOfTable
from fastpsr.rules import Log

_ROLES = {EER: "EER", MinDCF: "minDCF", ActDCF: "actDCF", Cllr: "Cllr", MinCllr: "minCllr"}


def role_of(metric: Any) -> str:
    """Return the standard name of a metric that tables and reports look for; "" for others.

    Examples
    --------
    >>> import fastpsr as fp
    >>> role_of(fp.MinDCF(0.05)), role_of(fp.CrossEntropy()), role_of(fp.AUC())
    ('minDCF', 'NCE', '')
    >>> role_of(fp.CalibrationLoss(fp.rules.Log(), fp.PAV(), fp.CrossFit()))
    'RCL'
    """
    if isinstance(metric, CalibrationLoss):
        if not (metric.relative and isinstance(metric.rule, Log)):
            return ""
        on_these = isinstance(metric.calibrator, PAV) and isinstance(metric.train, TrainOnTest)
        return "RCL bound" if on_these and not isinstance(metric, LossOfTable) else "RCL"
    if isinstance(metric, CrossEntropy):
        return "NCE" if metric.normalized else ""
    return next((role for kind, role in _ROLES.items() if isinstance(metric, kind)), "")
