"""Types of the kernels; what each does is documented where it is defined.

Labels, codes and folds are integers of any width. Scores and posteriors come as they were given, in
float64 or float32; other numbers are float64, and so are sums. Empty `weights` are weights of 1.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_Reals = NDArray[np.floating[Any]]
_Codes = NDArray[np.integer[Any]]
_Counts = NDArray[np.int64]
_Flags = NDArray[np.bool_]

_Grid = tuple[float, float, _Codes, _Codes, _Floats]  # bucket_grid
_Tree = tuple[float, float, int, _Codes, _Counts]  # low, per_unit, n_buckets, node_of_place, nodes
_Blocks = tuple[_Counts, _Counts, _Counts]  # cut_into_blocks

# axis
def add_trained(trains: _Flags, weights: _Floats) -> _Floats: ...
def fit_to_nodes(
    features: _Floats,
    negatives: _Floats,
    positives: _Floats,
    offset: _Floats,
    start: _Floats,
    penalty: _Floats,
    lower: _Floats,
) -> _Floats: ...
def map_by_part(scores: _Reals, parts_of: _Codes, scale: _Floats, shift: _Floats) -> _Floats: ...
def place_on_axis(
    scores: _Reals, low: float, width: float, n_cells: int
) -> tuple[NDArray[np.int32], _Floats]: ...
def sum_on_axis(
    scores: _Reals,
    y: _Codes,
    parts_of: _Codes,
    weights: _Floats,
    low: float,
    width: float,
    n_cells: int,
    n_parts: int,
) -> _Floats: ...
def weigh_nodes(sums: _Floats, to_weights: _Floats) -> _Floats: ...

# binning
def bin_numbers(values: _Reals, edges: _Floats) -> NDArray[np.int32]: ...
def sum_into_bins(
    values: _Reals, hits: _Flags, y: _Codes, weights: _Floats, edges: _Floats, n_classes: int
) -> _Floats: ...
def top_classes(scores: _Reals) -> tuple[_Floats, NDArray[np.int32]]: ...

# buckets
def add_to_buckets(
    scores: _Reals, y: _Codes, low: float, per_unit: float, counts: _Counts
) -> None: ...
def count_into_buckets(
    scores: _Reals, y: _Codes, low: float, per_unit: float, n_buckets: int
) -> _Codes: ...
def count_into_places(
    values: _Reals,
    y: _Codes,
    weights: _Floats,
    grid: _Tree,
    first_place: int,
    counts: _Codes,
    extremes: _Floats,
    sums: _Floats,
) -> None: ...
def cumulate_exactly(sums: _Floats) -> _Floats: ...
def find_undecided(counts: _Codes) -> _Flags: ...
def first_keys(buckets: _Codes, low: float, per_unit: float, n_buckets: int) -> _Counts: ...
def key_of(values: _Floats | float) -> _Counts: ...
def mark_in_places(values: _Reals, grid: _Tree, marked: _Codes) -> _Flags: ...
def marks_of_places(node_of_place: _Codes, picked: _Flags) -> NDArray[np.int32]: ...
def pick_from_buckets(
    scores: _Reals, y: _Codes, low: float, per_unit: float, counts: _Codes, picked: _Flags
) -> tuple[_Floats, _Floats]: ...
def pick_from_places(
    values: _Reals, y: _Codes, grid: _Tree, marked: _Codes
) -> tuple[_Floats, _Floats]: ...
def pool_buckets(
    counts: _Codes, undecided: _Flags, known: _Floats, negatives: _Floats, positives: _Floats
) -> tuple[_Floats, _Floats, _Floats]: ...
def weigh_buckets(
    values: _Reals, weights: _Floats, low: float, per_unit: float, sums: _Floats
) -> None: ...

# cells
def add_cells(cells: _Floats, others: _Floats) -> None: ...
def cell_numbers(values: _Reals, edges: _Floats, dtype: Any = ...) -> NDArray[Any]: ...
def count_into_cells(
    scores: _Reals,
    weights: _Floats,
    grid: _Grid,
    take: int,
    y: _Codes,
    cells: _Floats,
    lowest: _Floats,
) -> None: ...
def highest_in_steps(values: _Reals, weights: _Floats, grid: _Grid, highest: _Floats) -> None: ...
def merge_into_cells(sorted_scores: _Floats, edges: _Floats) -> tuple[_Floats, _Floats]: ...
def split_by_class(scores: _Reals, y: _Codes) -> tuple[_Floats, _Floats]: ...
def step_function(values: _Reals, steps: _Floats, levels: _Floats) -> _Floats: ...

# checking
def compact_labels(labels: _Counts, n_classes: int, codes: _Codes) -> int: ...
def find_outside(values: _Reals, low: float, high: float) -> int: ...
def sum_rows(values: _Reals) -> _Floats: ...

# checksums
def checksum(*arrays: NDArray[Any]) -> int: ...

# dealing
def count_pairs(codes: _Codes, y: _Codes, n_codes: int, n_classes: int) -> _Counts: ...
def deal_counts(
    counts: _Counts,
    strata: _Counts,
    sizes: _Counts,
    tables: _Counts,
    places: _Counts,
    keys: NDArray[np.uint64],
    n_shares: int,
) -> _Floats: ...
def deal_groups(
    counts: _Counts,
    strata: _Counts,
    sizes: _Counts,
    tables: _Counts,
    places: _Counts,
    keys: NDArray[np.uint64],
    n_shares: int,
    wanted: range,
) -> tuple[NDArray[np.int32], _Counts]: ...
def deal_ranks(
    y: _Codes,
    weights: _Floats,
    ranks: _Counts,
    sizes: _Counts,
    first_folds: _Counts,
    tables: _Counts,
    places: _Counts,
    keys: NDArray[np.uint64],
    n_folds: int,
) -> NDArray[np.uint16]: ...
def leave_out(counts: _Counts, groups: NDArray[np.int32], bounds: _Counts) -> _Floats: ...
def pair_folds(
    one: _Codes, other: _Codes, folds: _Codes, n_folds: int
) -> tuple[NDArray[np.uint16], _Counts]: ...
def shuffle_ranks(
    sizes: _Counts, rng: np.random.Generator
) -> tuple[_Counts, _Counts, NDArray[np.uint64]]: ...
def sum_shares(dealt: _Floats, keeps: NDArray[np.bool_]) -> _Floats: ...

# decisions
def least_costly_decisions(
    scores: _Reals, starts: _Codes, classes: _Codes, values: _Floats
) -> NDArray[np.int32]: ...
def least_costly_decisions_of_odds(
    odds: _Reals, starts: _Codes, classes: _Codes, values: _Floats
) -> NDArray[np.int32]: ...
def likeliest_classes(rows: _Reals) -> NDArray[np.int32]: ...

# distinct
def all_distinct(numbers: NDArray[np.uint64]) -> bool: ...

# exact
def add_exactly(sums: _Floats) -> _Floats: ...
def sum_exactly_by_class(values: _Floats, y: _Codes, n_classes: int) -> _Floats: ...

# fitting
def class_ranges(scores: _Reals, y: _Codes, weights: _Floats) -> _Floats: ...
def margin_ranges(
    scores: _Reals, y: _Codes, weights: _Floats, parts_of: _Codes, n_parts: int, by_class: bool
) -> tuple[_Floats, _Floats]: ...
def sum_fit(
    features: _Floats,
    y: _Codes,
    weights: _Floats,
    rows: tuple[int, int],
    parameters: _Floats,
    with_bias: bool,
    offset: float,
    factors: _Floats,
) -> tuple[_Floats, _Floats]: ...

# grid
def bucket_grid(edges: _Floats) -> _Grid: ...

# grouping
def cut_into_blocks(bounds: _Counts, strata: _Counts, longest: int = ...) -> _Blocks: ...
def order_by_group(groups: _Codes, bounds: _Counts) -> _Codes: ...

# isotonic
def pool_adjacent_violators(negatives: _Floats, positives: _Floats) -> _Counts: ...

# linear
def solve_positive_definite(matrix: _Floats, vector: _Floats) -> _Floats | None: ...

# log_space
def exp(values: _Reals) -> _Floats: ...
def log_odds_from_posteriors(posteriors: _Reals) -> _Floats: ...
def log_sigmoid_columns(log_odds: _Floats) -> _Floats: ...
def normalize_log_rows(scores: _Reals, offset: _Floats, out: _Floats) -> _Floats: ...
def sigmoid(log_odds: _Floats) -> _Floats: ...
def sigmoid_columns(log_odds: _Floats) -> _Floats: ...
def softplus(values: _Floats) -> _Floats: ...

# panels
def average_rows(values: _Floats, shares: _Floats, ends: _Counts, out: _Floats) -> None: ...
def place_on_boundaries(
    log_q: _Floats,
    classes: _Codes,
    reach: _Floats,
    nodes: _Floats,
    points: _Floats,
    shares: _Floats,
    ends: _Counts,
) -> None: ...
def tail_integrals(
    log_odds: _Floats,
    y: _Codes | _Flags,
    cells: _Codes,
    lefts: _Floats,
    rows: _Floats,
    ends: _Floats,
) -> _Floats: ...
def tail_slopes(
    log_odds: _Floats,
    y: _Codes | _Flags,
    cells: _Codes,
    lefts: _Floats,
    rows: _Floats,
    ends: _Floats,
) -> _Floats: ...

# resampling
def divide_over_parts(seed: int, first: int, n_replicates: int, sizes: _Counts) -> _Counts: ...
def draw_units(
    seed: int, first: int, n_draws: _Counts, blocks: _Blocks, order: _Codes, n_units: int
) -> NDArray[np.float32]: ...
def draws_in_part(
    seed: int,
    first: int,
    n_replicates: int,
    strata: _Codes,
    bounds: _Counts,
    places: _Counts,
    ends: _Counts,
) -> _Counts: ...
def sum_draws(
    seed: int,
    first: int,
    n_draws: _Counts,
    blocks: _Blocks,
    bounds: _Counts,
    weights: _Floats,
    columns: _Floats,
    degree: int,
    out: _Floats,
) -> _Floats: ...
def sum_nested(
    seed: int,
    first: int,
    n_draws: _Counts,
    times: NDArray[np.float32],
    blocks: _Blocks,
    groups: _Codes,
    weights: _Floats,
    columns: _Floats,
    degree: int,
    out: _Floats,
) -> _Floats: ...
def sum_units(
    units: NDArray[np.float32],
    first_unit: _Codes,
    second_unit: _Codes,
    bounds: _Counts,
    weights: _Floats,
    columns: _Floats,
    degree: int,
    out: _Floats,
) -> _Floats: ...

# side_by_side
class SideBySide:
    n_classes: int
    def __init__(
        self, scores: _Floats, y: _Codes, weights: _Floats, parts_of: _Codes, n_parts: int
    ) -> None: ...
    def sum_fit(
        self,
        point: _Floats,
        curved: bool,
        parts: _Flags,
        factors: _Floats,
        by_bias: bool = True,
    ) -> tuple[_Floats, _Floats | None]: ...

# sums
def sum_brier_losses(log_odds: _Reals, y: _Codes, weights: _Floats) -> _Floats: ...
def sum_brier_losses_multiclass(log_q: _Reals, y: _Codes, weights: _Floats) -> _Floats: ...
def sum_brier_losses_of_posteriors(q: _Reals, y: _Codes, weights: _Floats) -> _Floats: ...
def sum_brier_losses_of_rows(q: _Reals, y: _Codes, weights: _Floats) -> _Floats: ...
def sum_by_cell(values: _Floats, cells: _Codes, n_cells: int) -> _Floats: ...
def sum_by_class(values: _Floats, y: _Codes, weights: _Floats, n_classes: int) -> _Floats: ...
def sum_log_losses(log_odds: _Reals, y: _Codes, weights: _Floats) -> _Floats: ...
def sum_log_losses_multiclass(log_q: _Reals, y: _Codes, weights: _Floats) -> _Floats: ...
def sum_log_losses_of_posteriors(q: _Reals, y: _Codes, weights: _Floats) -> _Floats: ...
def sum_log_losses_of_rows(q: _Reals, y: _Codes, weights: _Floats) -> _Floats: ...
