"""What the readers of trial lists make of a small file of every format."""

from typing import Any

import fastpsr as fp
from tests.golden import FOLDER
from tests.golden.cases import described

FILES = sorted((FOLDER / "corpus").iterdir())


def reading(path: Any) -> Any:
    """Return the format that was detected, and the columns."""
    read = fp.trials.read_key if path.suffix in (".key", ".pairs") else fp.trials.read_scores
    try:
        held = read(path)
    except ValueError as error:
        return {"refused": getattr(error, "argument", "ValueError")}
    parts = {name: getattr(held, name) for name in ("enroll", "test", "y_true", "score")}
    return {"format": held.format} | {
        name: None if part is None else described(part if name == "score" else list(part))
        for name, part in parts.items()
    }
