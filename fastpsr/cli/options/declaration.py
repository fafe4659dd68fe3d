"""Declaration of options: each has its panel of the help, and the arguments that it stands for."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any

import typer

TABLES, TRIALS, INTERVALS = "Tables", "Trial lists", "Intervals"
METRICS, FILES = "Metrics and calibration", "Files"

#: How an argument of the library is given, where it is not "--" and its name with hyphens. "{}" is
#: the value, and "{column}" the column that an error is about.
USAGE: dict[str, str] = {"sep": "sep=; as its first line"}  # which no option takes the place of
#: The options of the command that runs, before that of all that are loaded.
KNOWN: set[str] = set()


def declared(
    help: str,
    *names: str,
    panel: str | None = None,
    arguments: Mapping[str, str] | None = None,
    **more: Any,
) -> Any:
    """Return an option that is shown in a panel of the help, by default the first.

    `arguments` are those of the library that it stands for, where their names differ, and how they
    are given (`USAGE`).
    """
    USAGE.update(arguments or {})
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


def option(
    help: str,
    *names: str,
    default: Any = None,
    type: Any = str | None,
    parse: Callable[[Any], Any] | None = None,
    **more: Any,
) -> Any:
    """Return a field of a dataclass that is an option of a command, declared likewise.

    A field has the type of its annotation, unless `parse` makes its value of another `type`.
    """
    declaration = declared(help, *names, **more)
    if parse is None:
        return field(default=default, metadata={"option": declaration})
    metadata = {"option": declaration, "type": type, "parse": parse}
    return field(default=default, metadata=metadata)


def words_of(text: str | None) -> list[str] | None:
    """Return words with commas between; None where there is no text."""
    return None if text is None else [word.strip() for word in text.split(",")]


def words_among(name: str, text: str | None, known: Iterable[str]) -> list[str]:
    """Return the words of an option; raise unless each is known, and is there once."""
    words = words_of(text) or []
    for place, word in enumerate(words):
        if word not in known:
            raise ValueError(f"{name} must be among {', '.join(known)}, not {word!r}")
        if word in words[:place]:
            raise ValueError(f"{name} must not name {word} twice")
    return words
