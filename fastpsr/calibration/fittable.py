"""What calibrators and fusions have in common: options, and what a fit makes of them."""

import copy
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Self

import numpy as np

from fastpsr.data import Kind
from fastpsr.options import Options
from fastpsr.results import in_short, table, values


class Fittable(Options):
    """A map whose ``fit`` returns a fitted copy."""

    #: Attributes that fitting sets, for saving.
    fitted_names: ClassVar[tuple[str, ...]] = ()
    #: Those that are names rather than numbers.
    fitted_texts: ClassVar[tuple[str, ...]] = ()
    #: Those that are fitted maps, or tuples of these, of numbers and of None.
    fitted_nested: ClassVar[tuple[str, ...]] = ()
    domain_: Kind

    @property
    def name(self) -> str:
        """Name in messages."""
        return type(self).__name__

    def option_names(self) -> list[str]:
        """Return the names of the constructor arguments that are numbers or text, for files."""
        if not is_dataclass(self):
            return []
        return [
            field.name
            for field in fields(self)
            if field.init
            and isinstance(getattr(self, field.name), (bool, int, float, str, np.number))
        ]

    def with_fitted(self, domain: Kind, attributes: dict[str, Any]) -> Self:
        """Return a copy with fitted attributes."""
        fitted = copy.copy(self)
        for name, value in {**attributes, "domain_": domain}.items():
            object.__setattr__(fitted, name, value)
        return fitted

    def check_fitted(self) -> None:
        """Raise unless the fitted attributes, read from a file, are valid."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__repr__" not in vars(cls):  # before a dataclass has one of its options alone
            cls.__repr__ = Fittable.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """Return the options, and what was fitted."""
        parts: tuple[Any, ...] = fields(self) if is_dataclass(self) else ()
        names = [part.name for part in parts if part.init]
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        if not hasattr(self, "domain_"):
            return f"{type(self).__name__}({shown})"
        fitted = (f"{name} {in_short(getattr(self, name))}" for name in self.fitted_names)
        return f"<{type(self).__name__}({shown}) fitted to {self.domain_}: {'; '.join(fitted)}>"

    def _repr_html_(self) -> str:
        is_fitted = hasattr(self, "domain_")
        parts: tuple[Any, ...] = fields(self) if is_dataclass(self) else ()
        options = [part.name for part in parts if part.init]
        names = [*options, *(self.fitted_names if is_fitted else ())]
        state = f"fitted to {self.domain_}" if is_fitted else "not fitted"
        rows = [(name, values(getattr(self, name))) for name in names]
        return table(f"{type(self).__name__}, {state}", ("attribute", "value"), rows)

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy, for ``sklearn.base.clone``."""
        copied = copy.copy(self)
        for name in (*self.fitted_names, "domain_"):
            copied.__dict__.pop(name, None)
        return copied


def require_fitted(name: str, holds: object) -> None:
    """Raise unless a fitted attribute is valid."""
    if not holds:
        raise ValueError(f"{name} is not a valid fitted value")
