"""P-values of paired differences where there is none: how often they fall below a level.

Two systems score the same samples with noise of the same size, so that no metric differs in the
population. P-values that are right are uniform: 5 % of them lie below 0.05.
"""

import numpy as np

import fastpsr as fp

_LEVELS = (0.01, 0.05, 0.1, 0.5)
_TARGETS, _NONTARGETS = 200, 800
_SEPARATION = 2.0  # of the means, in standard deviations: then the LLR is 2 times the score
_N_RESAMPLES = 400
METRICS = (
    fp.AUC(), fp.CrossEntropy(), fp.BrierScore(), fp.EER(), fp.MinDCF(0.1), fp.Cllr(),
    fp.MinCllr(),
)  # fmt: skip


def pair(seed: int) -> tuple[fp.Predictions, fp.Predictions]:
    """Return two systems with calibrated LLRs that share half of their noise."""
    rng = np.random.default_rng(seed)
    y = np.repeat([1, 0], [_TARGETS, _NONTARGETS])
    shared, *own = rng.standard_normal((3, y.size))
    scores = [_SEPARATION * (y - 0.5) + (shared + noise) / np.sqrt(2.0) for noise in own]
    first, second = (fp.Predictions.from_llrs(y, _SEPARATION * score) for score in scores)
    return first, second


def table(quick: bool) -> str:
    """Return the percentage of p-values below each level, as Markdown."""
    repetitions = 5 if quick else 1000
    lines = [
        f"| metric | {' | '.join(f'below {level:g}' for level in _LEVELS)} |",
        f"|---|{'--:|' * len(_LEVELS)}",
    ]
    for metric in METRICS:
        p_values = [
            fp.compare(metric, *pair(seed), n_resamples=_N_RESAMPLES, seed=seed).p_value
            for seed in range(repetitions)
        ]
        shares = [f"{100.0 * np.mean(np.array(p_values) < level):.1f}" for level in _LEVELS]
        lines.append(f"| {metric.label} | {' | '.join(shares)} |")
    return "\n".join(lines)
