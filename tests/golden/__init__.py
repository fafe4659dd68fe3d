"""Golden values: what public calls and commands returned when the reference was recorded.

``python -m tests.golden`` records them anew; ``tests/test_golden.py`` compares. A changed value
needs a reason, and a check that does not use this library.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
VALUES = FOLDER / "values.json"
COMMANDS = FOLDER / "commands.json"
READINGS = FOLDER / "formats.json"
