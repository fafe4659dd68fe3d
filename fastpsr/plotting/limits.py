"""Ends of axes that one unusual system does not stretch, so that the others stay legible."""

from collections.abc import Collection, Mapping

_MOST = 3.0  # times what is usual


def common_end(ends: Collection[float]) -> float:
    """Return the highest of the ends that is at most 3 times the lower median.

    Examples
    --------
    >>> common_end([1.0, 2.0, 40.0]), common_end([40.0])
    (2.0, 40.0)
    """
    usual = sorted(ends)[(len(ends) - 1) // 2]
    return max(end for end in ends if end <= max(_MOST * usual, usual))


def common_span(spans: Mapping[str, tuple[float, float]]) -> tuple[float, float, list[str]]:
    """Return the range of the systems at most 3 times as wide as usual, and the names of others.

    Examples
    --------
    >>> common_span({"A": (-4.0, 5.0), "B": (-80.0, 90.0), "C": (-6.0, 4.0)})
    (-6.0, 5.0, ['B'])
    """
    widths = {name: high - low for name, (low, high) in spans.items()}
    widest = common_end(widths.values())
    kept = [spans[name] for name, width in widths.items() if width <= widest]
    low, high = min(low for low, _ in kept), max(high for _, high in kept)
    return low, high, [name for name, (a, b) in spans.items() if a < low or b > high]
