"""Optional libraries, which are installed with an extra and imported on first use."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polars import DataFrame


def load(name: str, advice: str) -> Any:
    """Return a module; raise an error with `advice` if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ValueError(advice) from None


def frame(content: Any, **options: Any) -> "DataFrame":
    """Return columns by name, or records, as a ``polars.DataFrame``."""
    polars = load("polars", 'data frames need polars: pip install "fastpsr[cli]"')
    data_frame: DataFrame = polars.DataFrame(content, **options)
    return data_frame
