"""Reports: an evaluation as one HTML file that needs nothing else, to send to a colleague."""

try:
    import jinja2 as _jinja2  # noqa: F401
    import matplotlib as _matplotlib  # noqa: F401
except ModuleNotFoundError as _error:
    raise ImportError(f'reports need {_error.name}: pip install "fastpsr[report]"') from _error

from fastpsr.report.content import UNNAMED, Report
from fastpsr.report.page import render, write_report

__all__ = ["UNNAMED", "Report", "render", "write_report"]
