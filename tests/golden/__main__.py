"""Record the golden values anew: ``python -m tests.golden [PART OF A SECTION'S NAME]``."""

import contextlib
import json
import sys
import tempfile
from collections import defaultdict
from typing import Any

from tests.golden import COMMANDS, READINGS, VALUES
from tests.golden.cases import cases
from tests.golden.command_lines import outcomes, sessions
from tests.golden.comparison import recorded
from tests.golden.corpus import FILES, reading


def main(part: str = "") -> None:
    values = json.loads(VALUES.read_text("utf-8")) if part and VALUES.exists() else {}
    anew: dict[str, dict[str, Any]] = defaultdict(dict)
    for case in cases():
        if part in case.section:
            anew[case.section][case.text] = recorded(case)
    _write(VALUES, {case.section: {} for case in cases()} | values | anew)
    if part in "formats":
        _write(READINGS, {path.name: {"": reading(path)} for path in FILES})
    if part in "commands":
        held = {}
        for lines in sessions():
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                held[lines[0]] = outcomes(lines)
        _write(COMMANDS, held)


def _write(path: Any, sections: dict[str, dict[str, Any]]) -> None:
    """Write JSON with a line for each result, so that differences can be read."""
    blocks = (
        f"{json.dumps(section)}: {{\n"
        + ",\n".join(f"{json.dumps(text)}: {json.dumps(value)}" for text, value in held.items())
        + "\n}"
        for section, held in sections.items()
    )
    path.write_text("{\n" + ",\n".join(blocks) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
