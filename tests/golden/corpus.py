"""What the readers of trial lists make of small files: of every format, odd, and malformed.

Names begin with what a file is an example of; those that are refused begin with ``malformed``.
"""

from typing import Any

import fastpsr as fp
from tests.golden import FOLDER
from tests.golden.cases import described

FILES = sorted((FOLDER / "corpus").iterdir())


def reading(path: Any) -> Any:
    """Return the format that was detected, and the columns; or the refusal and its message."""
    read = fp.trials.read_key if path.suffix in (".key", ".pairs") else fp.trials.read_scores
    try:
        held = read(path)
    except ValueError as error:
        message = str(error).replace(str(path), path.name)
        return {"refused": getattr(error, "argument", "ValueError"), "message": message}
    parts = {name: getattr(held, name) for name in ("enroll", "test", "y_true", "score")}
    contents = {
        name: None if part is None else described(part if name == "score" else list(part))
        for name, part in parts.items()
    }
    columns = {name: described(list(column)) for name, column in held.columns.items()}
    about = {"format": held.format, "vocabulary": held.vocabulary}
    return about | contents | {"columns": columns}
