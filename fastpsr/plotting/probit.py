"""The scale of DET plots: rates at the quantiles of the normal distribution."""

from typing import Any

import numpy as np
from matplotlib.axis import Axis
from matplotlib.scale import ScaleBase
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from matplotlib.transforms import Transform

__all__ = ["LEAST", "TICKS", "ProbitScale"]

LEAST = 1e-12  # rates nearer to 0 or 1 lie here
_LOW = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
_HIGH = tuple(1.0 - rate for rate in reversed(_LOW) if rate not in (0.005, 0.02))  # less crowded
TICKS = (*_LOW, *_HIGH)


class ProbitScale(ScaleBase):
    """Rates from 0 to 1 drawn at their probit; both ends lie beyond what can be shown."""

    name = "probit"

    def __init__(self, axis: Axis | None = None) -> None:
        pass  # the base class wants an axis in some versions of matplotlib, and none in others

    def get_transform(self) -> Transform:
        return _Probit()

    def set_default_locators_and_formatters(self, axis: Axis) -> None:
        axis.set_major_locator(FixedLocator(list(TICKS)))
        axis.set_major_formatter(FuncFormatter(lambda rate, _: f"{round(100.0 * rate, 8):g}"))
        axis.set_minor_locator(NullLocator())

    def limit_range_for_scale(self, vmin: float, vmax: float, minpos: float) -> tuple[float, float]:
        return max(vmin, LEAST), min(vmax, 1.0 - LEAST)


class _Probit(Transform):
    input_dims = output_dims = 1
    is_separable = True

    def transform_non_affine(self, values: Any) -> Any:
        from scipy.special import ndtri

        return ndtri(np.clip(values, LEAST, 1.0 - LEAST))

    def inverted(self) -> Transform:
        return _InvertedProbit()


class _InvertedProbit(Transform):
    input_dims = output_dims = 1
    is_separable = True

    def transform_non_affine(self, values: Any) -> Any:
        from scipy.special import ndtr

        return ndtr(values)

    def inverted(self) -> Transform:
        return _Probit()
