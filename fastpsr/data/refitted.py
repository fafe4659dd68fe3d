"""Predictions whose scores are those of a fit to them, which is repeated in replicates."""

from collections.abc import Callable
from typing import Self

from fastpsr.data.labeled import Floats
from fastpsr.data.predictions import Predictions


class Refitted(Predictions):
    """Predictions with other scores where samples weigh differently.

    Attributes
    ----------
    refit : callable
        Returns the scores, given the weights (N,).
    """

    refit: Callable[[Floats], Floats]
    follows_weights = True

    @classmethod
    def from_fit(cls, predictions: Predictions, refit: Callable[[Floats], Floats]) -> Self:
        """Return predictions with what makes their scores."""
        new = cls.__new__(cls)
        new.__dict__.update(predictions.compact().__dict__)
        new.refit = refit
        return new

    def reweighted(self, sample_weight: Floats, n_draws: Floats | None = None) -> Predictions:  # type: ignore[override]
        """Return the samples with other weights, and the scores of a fit at these."""
        new = super().reweighted(sample_weight, n_draws)
        plain = Predictions.__new__(Predictions)
        plain.__dict__.update({k: v for k, v in new.__dict__.items() if k != "refit"})
        return plain.replace_scores(self.kind, self.refit(sample_weight))
