"""Bands around curves."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fastpsr.bootstrap import Band
from fastpsr.data import Floats
from fastpsr.errors import ArgumentError
from fastpsr.plotting.canvas import Canvas

#: A band of a single system, or bands by the names of the systems.
Bands = Band | Mapping[str, Band] | None


def bands_of(
    given: Bands, systems: Mapping[str, Any], curve: Callable[..., Any]
) -> dict[str, Band]:
    """Return bands by the names of the systems, after checking that they are of a curve."""
    if given is None:
        return {}
    bands = dict(given) if isinstance(given, Mapping) else {"": given}
    for name, band in bands.items():
        if not isinstance(band, Band) or band.curve != curve.__name__:
            found = band.curve if isinstance(band, Band) else type(band).__name__
            raise ArgumentError(
                "band",
                f"must be made by fp.band(fp.{curve.__name__}, predictions), or be a mapping of "
                f"names of systems to these, not {found}",
            )
        if name not in systems:
            known = ", ".join(map(repr, systems)) if any(systems) else "a single one without a name"
            raise ArgumentError("band", f"must have names of systems ({known}), not {name!r}")
    return bands


def shade(
    canvas: Canvas[Any], name: str, band: Band, x: Floats, low: Floats, high: Floats, color: Any
) -> None:
    """Fill a band, and note how many replicates it leaves out.

    Where it is infinite it is filled to the ends of the axes as they are.
    """
    bottom, top = canvas.ax.get_ylim()
    order = np.argsort(x, kind="stable")
    low, high = (np.nan_to_num(side[order], nan=np.nan, posinf=top, neginf=bottom)
                 for side in (low, high))  # fmt: skip
    canvas.ax.fill_between(x[order], low, high, color=color, alpha=canvas.alpha, linewidth=0.0)
    if band.n_undefined:
        canvas.note(name, f"a class is missing in {band.n_undefined} replicates of the band")
