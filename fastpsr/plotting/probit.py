"""The scale of DET plots: rates at the quantiles of the normal distribution."""

from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axis import Axis
from matplotlib.font_manager import FontProperties
from matplotlib.scale import ScaleBase
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from matplotlib.transforms import Transform

LEAST = 1e-12  # rates nearer to 0 or 1 lie here
_LOW = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
_HIGH = tuple(1.0 - rate for rate in reversed(_LOW) if rate not in (0.005, 0.02))  # less crowded
TICKS = (*_LOW, *_HIGH)
_WIDTH = 0.42  # of half a character of a label and what is between labels, in sizes of the font
_HEIGHT = 1.3  # of a label, in sizes of the font


class ProbitScale(ScaleBase):
    """Rates from 0 to 1 drawn at their probit; both ends lie beyond what can be shown."""

    name = "probit"

    def __init__(self, axis: Axis | None = None) -> None:
        pass  # the base class wants an axis in some versions of matplotlib, and none in others

    def get_transform(self) -> Transform:
        return _Probit()

    def set_default_locators_and_formatters(self, axis: Axis) -> None:
        axis.set_major_locator(_Ticks(TICKS))
        axis.set_major_formatter(FuncFormatter(lambda rate, _: _percent(rate)))
        axis.set_minor_locator(NullLocator())

    def limit_range_for_scale(self, vmin: float, vmax: float, minpos: float) -> tuple[float, float]:
        return max(vmin, LEAST), min(vmax, 1.0 - LEAST)


class _Ticks(FixedLocator):
    """Fixed ticks without those whose labels would touch that of the tick before."""

    def __call__(self) -> Any:
        axis: Any = self.axis
        first, last = np.sort(axis.get_view_interval())
        shown = [tick for tick in super().__call__() if first <= tick <= last]
        places = _Probit().transform_non_affine([first, *shown, last])
        unit = _font_size(axis) * (places[-1] - places[0])
        kept: list[tuple[float, float]] = []
        for tick, place in zip(shown, places[1:-1], strict=True):
            n_characters = len(_percent(tick)) + (len(_percent(kept[-1][0])) if kept else 0)
            room = _WIDTH * n_characters if axis.axis_name == "x" else _HEIGHT
            if not kept or place - kept[-1][1] >= room * unit:
                kept.append((tick, place))
        return np.array([tick for tick, _ in kept])


def _font_size(axis: Any) -> float:
    """Return the size of labels as a share of the length of their axis."""
    usual = rcParams["xtick.labelsize" if axis.axis_name == "x" else "ytick.labelsize"]
    size = axis.get_tick_params().get("labelsize", usual)
    box = axis.axes.bbox
    length = 72.0 / axis.axes.figure.dpi * (box.width if axis.axis_name == "x" else box.height)
    return float(FontProperties(size=size).get_size_in_points() / max(length, 1.0))


def _percent(rate: float) -> str:
    return f"{round(100.0 * rate, 8):g}"


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
