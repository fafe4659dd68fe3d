"""Where a printed report goes in a page of the docs."""

from pathlib import Path


def write_report(page: Path, report: str, name: str = "") -> None:
    """Put a report between the page's two marks, or make it the page where there is none yet.

    A page of several reports has marks with the name of each.
    """
    of = f"{name} " if name else ""
    begin, end = f"<!-- {of}printed from here -->", f"<!-- {of}to here -->"
    text = page.read_text(encoding="utf-8") if page.exists() else f"{begin}\n{end}\n"
    if begin not in text or end not in text:
        raise ValueError(f"{page} must have the lines {begin!r} and {end!r} for the report")
    before, rest = text.split(begin, 1)
    _, after = rest.split(end, 1)
    page.write_text(f"{before}{begin}\n\n{report.strip()}\n\n{end}{after}", encoding="utf-8")
