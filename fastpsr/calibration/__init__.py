"""Calibrators, and ways to train them.

`CALIBRATORS` and `TRAININGS` list all of them, `NAMED` those of the command line; files, options,
warm-up, fuzzing and tests iterate over them.
"""

from fastpsr.calibration import registry
from fastpsr.calibration.base import Calibrator as Calibrator
from fastpsr.calibration.by_condition import ByCondition
from fastpsr.calibration.elub import LLRBounds, elub
from fastpsr.calibration.files import load_calibrator, save_calibrator
from fastpsr.calibration.fusion import LinearFusion
from fastpsr.calibration.registry import *  # noqa: F403
from fastpsr.calibration.registry import CALIBRATORS as CALIBRATORS
from fastpsr.calibration.registry import NAMED as NAMED
from fastpsr.calibration.registry import OTHER_NAMES as OTHER_NAMES
from fastpsr.calibration.stacks import Quality
from fastpsr.calibration.training import CrossFit, HeldOut, TrainOnTest, cross_fit
from fastpsr.calibration.training import Training as Training

TRAININGS: tuple[type[Training], ...] = (CrossFit, TrainOnTest, HeldOut)

__all__ = [
    "ByCondition",
    "CrossFit",
    "HeldOut",
    "LLRBounds",
    "LinearFusion",
    "Quality",
    "TrainOnTest",
    "cross_fit",
    "elub",
    "load_calibrator",
    "save_calibrator",
]
__all__ += registry.__all__
