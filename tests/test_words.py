"""Prose for users: standard words instead of phrases that make a sentence a riddle."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: A forbidden phrase, and what to write instead.
INSTEAD = {
    "is said": "name who says it, or write 'is declared', 'is stated', 'by default'",
    "are said": "name who says it, or write 'are declared', 'are stated'",
    "said by": "write 'set by', 'given by' or 'mapped by'",
    "is told": "write 'takes' or 'receives', or an imperative: 'pass `floor=0.001`'",
    "are told": "write 'take' or 'receive', or an imperative",
    "told apart": "write 'distinguished'",
    "told from": "write 'the positive class' or 'distinguished from'",
    "told otherwise": "write 'by default'",
    "of which": "start a new sentence, or write 'whose', 'with', 'for example'",
    "so that it is": "write 'and is', 'which makes it', or a colon",
    "what does not": "write the noun: 'rejected input', 'mismatches'",
    "that are not known": "write 'unknown' or 'unrecognized'",
    "is of use": "write 'is useful', or say for what: 'use it for'",
    "the same of": "repeat the noun",
    "says so": "write 'reports it', 'warns', 'notes it', or the setting that does it",
    "say so": "write 'report it', 'warn', 'note it', or the setting that does it",
    "what makes": "write the noun: 'the function that computes'",
    "what has": "write the noun: 'results with'",
    "what stands": "write the noun: 'the values', 'the output below'",
    "what holds": "write the noun: 'the rules', 'the container'",
    "return what": "name what is returned: 'Return the weights'",
    "is asked for": "write 'is requested' or 'on demand'",
    "are asked for": "write 'are requested' or 'optionally with'",
    "is meant": "write 'use', 'means', 'stands for', 'matches'",
    "are meant": "write 'use', 'mean', 'stand for', 'match'",
    "that which": "repeat the noun",
    "and the like": "name all cases, or 'for example' and two of them",
    "so-manieth": "write 'n-th'",
}
PHRASE = re.compile(rf"\b({'|'.join(INSTEAD)})\b".replace(" ", r"\s+"), re.IGNORECASE)
CODE = re.compile(r"^ *```.*?^ *```\s*$", re.MULTILINE | re.DOTALL)


def texts() -> Iterator[tuple[str, int, str]]:
    """Yield file, first line and text: pages without code; docstrings and strings of fastpsr."""
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md"):
        for path in sorted(ROOT.glob(name)):
            page = path.read_text("utf-8")
            prose = CODE.sub(lambda block: "\n" * block[0].count("\n"), page)
            yield str(path.relative_to(ROOT)), 1, prose
    for path in sorted((ROOT / "fastpsr").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield str(path.relative_to(ROOT)), node.lineno, node.value


def findings(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line within a text, and the message, of each forbidden phrase."""
    for match in PHRASE.finditer(text):
        phrase = " ".join(match[0].lower().split())
        yield text[: match.start()].count("\n"), f'"{phrase}": {INSTEAD[phrase]}'


def test_texts_for_users_have_no_forbidden_phrases():
    wrong = [
        f"{name}:{first + line}: {message}"
        for name, first, text in texts()
        for line, message in findings(text)
    ]
    assert wrong == []


def test_phrases_are_found_across_lines_and_in_any_case():
    assert [line for line, _ in findings("Scores,\nof\nwhich one is 0. It Is  said: no.")] == [1, 2]
