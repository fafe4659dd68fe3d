"""The contract: what holds for every metric, curve, calibrator, training and resampling scheme.

Tests go over the registries (`registry.py`) and over one generator of data (`data.py`), so that a
new entry is covered without a line here.
"""
