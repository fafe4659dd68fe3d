"""What replicates and subsets are drawn, as a metric of the user's own sees it."""

import contextlib
import itertools
import warnings
from dataclasses import replace

import numpy as np

import fastpsr as fp
from tests.contract import registry


class Recorder:
    """A metric that keeps the weights with which it is called, and returns their number.

    In a comparison it keeps those of the first system, and returns 0 for the second.
    """

    def __init__(self, data):
        self.scores, self.weights, self._numbers = data.scores, {}, itertools.count()

    def __call__(self, predictions):
        if not np.array_equal(predictions.scores, self.scores):
            return 0.0
        number, weights = next(self._numbers), predictions.sample_weight
        self.weights[number] = np.ones(len(predictions)) if weights is None else np.array(weights)
        return float(number)

    def split(self, replicates):
        """Return the weights of replicates, 0 where nothing was drawn, and of all further calls."""
        nothing = np.zeros(len(self.scores))
        numbers = [-1 if np.isnan(number) else int(number) for number in replicates]
        subsets = [weights for number, weights in self.weights.items() if number not in numbers]
        return np.array([self.weights.get(number, nothing) for number in numbers]), subsets


def schemes(first, second):
    """Return each scheme by name, with the first column as clusters, and both as speakers."""
    columns = {"unit": first, "left": first, "right": second}
    return {kind: registry.resampling(kind, columns) for kind in registry.RESAMPLING_KINDS}


def quietly(call, *arguments, **options):
    """Call without warnings: of undefined replicates, or of few samples."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return call(*arguments, **options)


def recorded(metrics, *systems, **options):
    """Return intervals of metrics, or of differences of two systems, and what was drawn.

    The weights of the samples are those of each replicate, and of each subset of the data and the
    data themselves, own weights included. Metrics of one call have the same draws where clusters or
    speakers are drawn, or two systems are compared.
    """
    recorder = Recorder(systems[0])
    call = fp.compare if len(systems) == 2 else fp.bootstrap
    *results, last = quietly(call, [*metrics, recorder], *systems, **options)
    replicates, subsets = recorder.split(last.replicates)
    return results, replicates, subsets


def reweighted(data, weights):
    """Return the same samples with other weights; of LLRs, their prior must be given."""
    options = {"sample_weight": weights}
    if data.kind == "raw scores":
        return fp.Predictions.from_raw_scores(data.y_true, data.scores, **options)
    if data.kind == "likelihoods":
        prior = None if data.given_priors is None else data.given_priors[1]
        return fp.Predictions.from_llrs(data.y_true, data.llrs, prior=prior, **options)
    if data.n_classes == 2:
        return fp.Predictions.from_logits(
            data.y_true, data.log_odds, priors=data.given_priors, **options
        )
    return fp.Predictions.from_log_posteriors(
        data.y_true, data.log_posteriors, priors=data.given_priors, **options
    )


def values_at(metrics, data, weights):
    """Return the values of metrics at several weights of the samples, nan where undefined."""
    values = np.full((len(metrics), len(weights)), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for k, weights_of_samples in enumerate(weights):
            drawn = reweighted(data, weights_of_samples)
            for m, metric in enumerate(metrics):
                with contextlib.suppress(ValueError):  # undefined
                    values[m, k] = metric(drawn)
    return values


def of_repeated_rows(metric, data, times):
    """Return the metric of rows that are repeated, with their folds; nan if it is undefined."""
    rows = np.repeat(np.arange(len(data)), np.round(times).astype(int))
    try:
        if isinstance(getattr(metric, "train", None), fp.CrossFit):
            metric = replace(metric, train=fp.CrossFit(metric.train.folds[rows]))
        with np.errstate(all="ignore"):
            return float(quietly(metric, data[rows]))
    except ValueError:
        return np.nan


class Subsets:
    """Recorded weights: of the whole, of halves and quarters, and without each unit."""

    def __init__(self, weights, units_kept):
        self.weights = list({units_kept(each): each for each in weights}.values())
        self.kept = kept = [units_kept(each) for each in self.weights]
        everything = max(kept, key=len)
        self.n_units = n = len(everything)
        self.whole = kept.index(everything)
        of_units = {units: k for k, units in enumerate(kept)}
        self.without = [k for k, units in enumerate(kept) if 0.8 * n < len(units) < n]
        self.halves = [k for k, units in enumerate(kept) if everything - units in of_units]
        self.quarters = [k for k, units in enumerate(kept) if len(units) < 0.4 * n]
        self.pairs = {frozenset((k, of_units[everything - kept[k]])) for k in self.halves}
        # the three ways in which a half was divided into quarters
        self.ways = {
            half: {
                frozenset((k, of_units[kept[half] - kept[k]])) for k in self.quarters
                if kept[k] < kept[half] and kept[half] - kept[k] in of_units
            }
            for half in self.halves
        }  # fmt: skip
