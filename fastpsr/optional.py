"""Libraries that only readers of files need, imported when they are first used."""

from typing import Any

from fastpsr.results import load


def polars() -> Any:
    """Return the module polars, or say how to install it."""
    return load("polars", 'reading text or Parquet files needs polars: pip install "fastpsr[cli]"')


def h5py() -> Any:
    """Return the module h5py, or say how to install it."""
    return load("h5py", 'reading HDF5 files needs h5py: pip install "fastpsr[hdf5]"')


def pyarrow() -> tuple[Any, Any]:
    """Return the modules pyarrow and pyarrow.parquet, or say how to install them."""
    advice = 'Parquet files in parts need pyarrow: pip install "fastpsr[big]"'
    return load("pyarrow", advice), load("pyarrow.parquet", advice)
