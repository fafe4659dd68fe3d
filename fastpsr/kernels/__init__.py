"""Loops over plain arrays, compiled by Numba on first use.

A kernel's module, and Numba with it, is imported when one of its functions is first asked for.
"""

import importlib
from typing import Any

_MODULE_OF = {
    "checksum": "checksums",
    "add_exactly": "exact",
    "sum_exactly_by_class": "exact",
    "add_cells": "cells",
    "bucket_grid": "grid",
    "cell_numbers": "cells",
    "count_into_cells": "cells",
    "highest_in_steps": "cells",
    "merge_into_cells": "cells",
    "split_by_class": "cells",
    "step_function": "cells",
    "add_to_buckets": "buckets",
    "count_into_buckets": "buckets",
    "count_into_places": "buckets",
    "cumulate_exactly": "buckets",
    "first_keys": "buckets",
    "key_of": "buckets",
    "mark_in_places": "buckets",
    "marks_of_places": "buckets",
    "weigh_buckets": "buckets",
    "find_undecided": "buckets",
    "pick_from_buckets": "buckets",
    "pick_from_places": "buckets",
    "pool_buckets": "buckets",
    "pool_adjacent_violators": "isotonic",
    "fit_to_nodes": "axis",
    "map_by_part": "axis",
    "add_trained": "axis",
    "weigh_nodes": "axis",
    "place_on_axis": "axis",
    "sum_on_axis": "axis",
    "count_pairs": "dealing",
    "deal_ranks": "dealing",
    "pair_folds": "dealing",
    "cut_into_blocks": "grouping",
    "order_by_group": "grouping",
    "divide_over_parts": "resampling",
    "draw_units": "resampling",
    "sum_draws": "resampling",
    "sum_units": "resampling",
    "bin_numbers": "binning",
    "sum_into_bins": "binning",
    "top_classes": "binning",
    "average_rows": "panels",
    "place_on_boundaries": "panels",
    "tail_integrals": "panels",
    "tail_slopes": "panels",
    "sum_fit_binary": "fitting",
    "SideBySide": "side_by_side",
    "class_ranges": "fitting",
    "margin_ranges": "fitting",
    "compact_labels": "checking",
    "solve_positive_definite": "linear",
    "find_outside": "checking",
    "sum_rows": "checking",
    "least_costly_decisions": "decisions",
    "least_costly_decisions_of_odds": "decisions",
    "likeliest_classes": "decisions",
    "sum_by_cell": "sums",
    "sum_by_class": "sums",
    "sum_log_losses": "sums",
    "sum_log_losses_of_posteriors": "sums",
    "sum_brier_losses_of_posteriors": "sums",
    "sum_brier_losses": "sums",
    "sum_log_losses_of_rows": "sums",
    "sum_brier_losses_of_rows": "sums",
    "sum_log_losses_multiclass": "sums",
    "sum_brier_losses_multiclass": "sums",
    "log_odds_from_posteriors": "log_space",
    "log_sigmoid_columns": "log_space",
    "normalize_log_rows": "log_space",
    "sigmoid_columns": "log_space",
    "sigmoid": "log_space",
    "softplus": "log_space",
    "exp": "log_space",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = found
    return found
