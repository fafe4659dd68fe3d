"""Public subpackages, and choices, written by ``python -m tools.exports``."""

SUBPACKAGES = (
    "calibration",
    "curves",
    "metrics",
    "rules",
    "simulate",
    "trials",
)
WITH_EXTRAS = (
    "compat",
    "plotting",
)
CALIBRATORS = (
    "dp",
    "temperature",
    "vector",
    "matrix",
    "beta",
    "spline",
    "pav",
    "venn-abers",
    "histogram",
    "pav-ovr",
    "pav-laplace",
    "histogram-ovr",
    "beta-ovr",
)
FORMATS = (
    "kaldi-trials",
    "sitw",
    "voxceleb",
    "kaldi-scores",
    "voxsrc",
    "wespeaker",
    "3dspeaker",
    "kaldi-eer",
    "bob",
    "sasv",
    "asvspoof",
    "numbers",
    "pairs",
    "nist",
    "csv",
    "bare-csv",
    "parquet",
    "npz",
    "bosaris",
    "sidekit",
    "dca-plda",
)
PRESETS = (
    "sre08",
    "sre10",
    "sre12",
    "sre16",
    "sre18",
    "sre18-vast",
    "sre19",
    "sre19-av",
    "sre21",
    "sre24",
    "voxceleb",
    "voxsrc",
    "cnceleb",
)
QUALITY_TERMS = (
    "min,max",
    "bilinear",
    "scale",
)
