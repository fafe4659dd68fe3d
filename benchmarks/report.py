"""Where a printed report goes in a page of the docs."""

from pathlib import Path

BEGIN, END = "<!-- printed from here -->", "<!-- to here -->"


def write_report(page: Path, report: str) -> None:
    """Put a report between the page's two marks, or make it the page where there is none yet."""
    text = page.read_text(encoding="utf-8") if page.exists() else f"{BEGIN}\n{END}\n"
    if BEGIN not in text or END not in text:
        raise ValueError(f"{page} must have the lines {BEGIN!r} and {END!r} for the report")
    before, rest = text.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    page.write_text(f"{before}{BEGIN}\n\n{report.strip()}\n\n{END}{after}", encoding="utf-8")
