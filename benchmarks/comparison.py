"""One value, computed by fastpsr and by a peer from the same arrays."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from numpy.typing import NDArray

from benchmarks.data import Size, Softmax

_MODULES = {"scikit-learn": "sklearn"}  # where a distribution and its module differ in name


@dataclass(frozen=True, eq=False)
class Comparison:
    """One value, computed by both sides.

    Attributes
    ----------
    name : str
    size : Size, SystemsSize or Softmax
    promised : float or None
        How many times as fast as the peer fastpsr promises to be; None where it promises nothing.
    ours, peer : callable of Trials, Systems or Samples
        From raw arrays to the value.
    agree : callable of (Trials, Systems or Samples, value of ours, value of the peer)
        Raises an AssertionError unless both sides computed the same.
    peer_package : str
        The peer's distribution.
    column : str
        The array that both sides read, besides the labels.
    """

    name: str
    size: Size | Softmax
    promised: float | None
    ours: Callable[[Any], Any]
    peer: Callable[[Any], Any]
    agree: Callable[[Any, Any, Any], None]
    peer_package: str
    column: str

    @property
    def peer_module(self) -> str:
        """The module to import, such as sklearn."""
        return _MODULES.get(self.peer_package, self.peer_package)

    @property
    def peer_is_installed(self) -> bool:
        return find_spec(self.peer_module) is not None

    @property
    def peer_label(self) -> str:
        """Name and version of the peer."""
        return f"{self.peer_package} {version(self.peer_package)}"

    def data(self) -> Any:
        return self.size.make()

    def arrays(self) -> list[NDArray[Any]]:
        """Return what both sides read."""
        data = self.data()
        return [data.y, getattr(data, self.column)]
