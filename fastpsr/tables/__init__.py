"""Tables of scores with labels: .npz, .npy, .csv and .parquet, in memory or in parts."""

from fastpsr.tables.binary import parquet_files
from fastpsr.tables.opening import open_table
from fastpsr.tables.read import read_table
from fastpsr.tables.table import OpenTable, Table

__all__ = [
    "OpenTable",
    "Table",
    "open_table",
    "parquet_files",
    "read_table",
]
