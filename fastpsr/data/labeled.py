"""What predictions in memory and in parts have in common."""

from abc import ABC, abstractmethod
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import ArgumentError

Floats = NDArray[np.float64]
Kind = Literal["posteriors", "likelihoods", "raw scores"]
ScoreKind = Literal[
    "posteriors", "log-posteriors", "logits", "likelihoods", "log-likelihoods", "llrs",
    "log10 llrs", "raw scores",
]  # fmt: skip
#: What scores may be, and the kind of the predictions that are made of them.
KINDS: dict[ScoreKind, Kind] = {
    "posteriors": "posteriors", "log-posteriors": "posteriors", "logits": "posteriors",
    "likelihoods": "likelihoods", "log-likelihoods": "likelihoods", "llrs": "likelihoods",
    "log10 llrs": "likelihoods", "raw scores": "raw scores",
}  # fmt: skip
Scale = Literal["llr", "log10-llr", "posteriors", "raw", "cosine"]
#: What scores of trials are called, and their kind for :meth:`fastpsr.Predictions.of`.
KINDS_OF_SCALES: dict[str, ScoreKind] = {
    "llr": "llrs", "log10-llr": "log10 llrs", "posteriors": "posteriors", "raw": "raw scores",
    "cosine": "raw scores",
}  # fmt: skip


class LabeledData(ABC):
    """Classes, their weights and priors, and the kind of the scores."""

    kind: Kind
    n_classes: int
    given_priors: Floats | None  #: The priors passed by the caller, or None.
    #: Whether scores are others where samples weigh differently.
    follows_weights: ClassVar[bool] = False

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def class_weights(self) -> Floats:
        """Total sample weight of each class, shape (K,)."""

    @property
    @abstractmethod
    def class_sizes(self) -> NDArray[np.int64]:
        """Number of samples of positive weight of each class, shape (K,)."""

    @property
    @abstractmethod
    def has_weights(self) -> bool:
        """Whether samples may have different weights."""

    @property
    @abstractmethod
    def common_weight(self) -> float | None:
        """Weight of all samples of positive weight; None if these have different weights."""

    @property
    def priors(self) -> Floats:
        """Class priors of the evaluation, shape (K,); by default the class frequencies."""
        if self.given_priors is not None:
            return self.given_priors
        weights = self._weights_of_whole
        total = weights.sum()
        if total == 0.0:
            raise ArgumentError("priors", "must be given: no sample has positive weight")
        return np.asarray(weights / total)

    @property
    def _weights_of_whole(self) -> Floats:
        """Class weights that are the frequencies."""
        return self.class_weights

    @property
    def has_fixed_llrs(self) -> bool:
        """Whether LLRs are independent of weights; LLRs of posteriors depend on frequencies."""
        return self.kind == "likelihoods" or self.given_priors is not None

    @property
    def log_odds_offset(self) -> float:
        """Log-odds minus scores in a binary task; 0 for posteriors."""
        if self.kind != "likelihoods":
            return 0.0
        return log_prior_ratio(self, self._fix_posterior_priors())

    @property
    def drawn_from(self) -> Self:
        """The data of which these are a replicate, by other weights; else these themselves."""
        return self

    def _fix_posterior_priors(self) -> Floats:
        """Return the priors that turn likelihoods into posteriors, (K,), from now on the same."""
        return self.priors

    def require_samples(self) -> None:
        """Raise if no sample has positive weight."""
        if not self.class_sizes.any():
            raise ArgumentError("predictions", "must have a sample of positive weight")

    def require_rows(self) -> None:
        """Raise where rows cannot be counted, because they are not there yet."""
        return

    def require_posteriors(self, what: str) -> None:
        """Raise if the data are raw scores."""
        if self.kind == "raw scores":
            raise ArgumentError(
                "predictions",
                "need posteriors or likelihoods, not raw scores, which only rank samples",
                remedy="calibrate them first (fastpsr.cross_fit), or say what they are "
                "(from_llrs, ...)",
                name=what,
            )


def log_prior_ratio(data: LabeledData, priors: Floats) -> float:
    """Return the log-odds of class 1 at priors of data."""
    if not priors.all():
        k = int(priors.argmin())
        why = "" if data.given_priors is not None else f": class {k} has no weight"
        raise ArgumentError(
            "priors",
            "must be positive to turn likelihoods into posteriors or back, not "
            f"{priors.tolist()}{why}",
        )
    return float(np.log(priors[1]) - np.log(priors[0]))
