"""Simulated data: synthetic classifiers, and trial lists of speaker verification."""

from __future__ import annotations  # numpy.random, which takes long to import, is named in some

from dataclasses import dataclass
from math import ceil, log, sqrt

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks
from fastpsr.errors import ArgumentError
from fastpsr.results import Result

__all__ = [
    "ChallengeList", "SyntheticSystems", "TrialList", "challenge", "gaussian_classes", "trial_list",
]  # fmt: skip

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_DIMENSIONS = 64  # of a session vector: enough for nearly Gaussian LLRs
_ROWS = 1 << 11  # trials scored at a time, so that their vectors stay in the cache
_FULLEST = 0.9  # largest fraction of all possible pairs that a trial list uses by default
_SESSIONS = 7  # of each speaker, by default
_SPEAKER_VARIANCE = 0.52  # of a challenge, as the following are
_NOISE = {"a": 1.0, "b": 1.1}  # of each system's vectors
_SHARED = 0.6  # fraction of the variance of the noise that both systems share
_HALFWAY = 4.0  # seconds at which the variance of the noise is twice that of a long recording
_SECONDS, _SPREAD = 8.0, 0.8  # the median duration, and the standard deviation of its logarithm
_SHORTEST, _LONGEST = 1.0, 60.0  # seconds


@dataclass(frozen=True, eq=False)
class SyntheticSystems(Result):
    """Labels, and natural log-posteriors of four systems, from :func:`gaussian_classes`.

    Attributes
    ----------
    y_true : ndarray of int64, shape (N,)
        True classes, 0 to K-1, in class order.
    cal : ndarray of float64, shape (N, K)
        Log-posteriors of the calibrated system.
    mcs : ndarray of float64, shape (N, K)
        `cal` multiplied by `scale` and normalized: over- or underconfident.
    mcp : ndarray of float64, shape (N, K)
        Log-posteriors computed with mismatched priors.
    mcps : ndarray of float64, shape (N, K)
        `mcp` multiplied by `scale` and normalized: both kinds of miscalibration.
    priors : ndarray of float64, shape (K,)
        Class priors of the simulation, which `cal` uses.
    """

    y_true: Integers
    cal: Floats
    mcs: Floats
    mcp: Floats
    mcps: Floats
    priors: Floats


@dataclass(frozen=True, eq=False)
class TrialList(Result):
    """Scored trials of speaker verification, from :func:`trial_list`.

    Attributes
    ----------
    y_true : ndarray of int64, shape (N,)
        1 for a target trial (one speaker on both sides), 0 for a non-target trial.
    llr : ndarray of float64, shape (N,)
        The system's raw log-likelihood ratios, natural logarithms, somewhat miscalibrated.
    enroll_speaker, test_speaker : ndarray of int64, shape (N,)
        Speakers of the two sides, in a common numbering.
    enroll, test : ndarray of int64, shape (N,)
        Sessions of the two sides, in a common numbering: the speaker of session i is
        i // n_sessions_per_speaker.
    """

    y_true: Integers
    llr: Floats
    enroll_speaker: Integers
    test_speaker: Integers
    enroll: Integers
    test: Integers


@dataclass(frozen=True, eq=False)
class ChallengeList(Result):
    """Trials scored by two systems, the development or evaluation list of :func:`challenge`.

    Attributes
    ----------
    y_true : ndarray of int64, shape (N,)
        1 for a target trial (one speaker on both sides), 0 for a non-target trial.
    a, b : ndarray of float64, shape (N,)
        Scores of both systems: cosine similarities.
    enroll, test : ndarray of int64, shape (N,)
        Recordings of the two sides, in a common numbering of both lists.
    enroll_speaker, test_speaker : ndarray of int64, shape (N,)
        Speakers of the two sides, in a common numbering of both lists.
    enroll_seconds, test_seconds : ndarray of float64, shape (N,)
        Durations of the recordings of the two sides.
    """

    y_true: Integers
    a: Floats
    b: Floats
    enroll: Integers
    test: Integers
    enroll_speaker: Integers
    test_speaker: Integers
    enroll_seconds: Floats
    test_seconds: Floats


def gaussian_classes(
    n_samples: int,
    *,
    n_classes: int = 2,
    prior_first: float = 0.8,
    variance: float = 0.15,
    scale: float = 5.0,
    seed: int | np.random.Generator = 0,
) -> SyntheticSystems:
    r"""Simulate four systems on Gaussian classes: one calibrated, three miscalibrated.

    Features of class i are drawn from :math:`\mathcal{N}(\sqrt{1/2}\, e_i, \sigma I)`, where
    :math:`e_i` is a one-hot vector and :math:`\sigma` the variance, so that the class means lie at
    distance 1. The posteriors come from the densities that the features are drawn from.

    Parameters
    ----------
    n_samples : int
        Number of samples. Class i has its prior times `n_samples` samples, rounded to an integer,
        so that the total N may differ from `n_samples` by up to K/2.
    n_classes : int, default 2
        The number K of classes.
    prior_first : float, default 0.8
        Prior of class 0, strictly between 0 and 1; the other classes share the rest equally.
    variance : float, default 0.15
        Variance of each feature in each class: the larger, the harder the task.
    scale : float, default 5.0
        Factor of the log-posteriors in `mcs` and `mcps`; above 1 these are overconfident.
    seed : int or numpy.random.Generator, default 0
        Seed of a PCG64 generator, or a generator to draw from.

    Returns
    -------
    SyntheticSystems
        Samples are sorted by class, as in [1]_: shuffle or stratify them before splitting into
        folds.

    Raises
    ------
    ValueError
        If a class would get no sample, or an argument is out of its range.

    Notes
    -----
    Systems `mcp` and `mcps` assume priors of 0.9 for the last class and 0.1/(K-1) for each other.
    In [1]_ the class means are at distance 1 in one section and at the one-hot vectors in another;
    its figures agree with distance 1.

    References
    ----------
    .. [1] L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper
       Scoring Rules, and Calibration", 2024, arXiv:2408.02841, appendix C.

    Examples
    --------
    >>> import numpy as np
    >>> from fastpsr import simulate
    >>> systems = simulate.gaussian_classes(400)
    >>> np.bincount(systems.y_true).tolist(), systems.cal.shape
    ([320, 80], (400, 2))
    >>> bool(np.allclose(np.exp(systems.mcps).sum(axis=1), 1.0))
    True
    """
    checks.check_integer("n_samples", n_samples, 1)
    checks.check_number("n_samples", n_samples, 1, 1e15, "be at most 1e15")
    checks.check_integer("n_classes", n_classes, 2)
    checks.check_number("n_classes", n_classes, 2, n_samples, "be at most n_samples")
    prior_first = checks.as_inner_number("prior_first", prior_first)
    variance = _positive("variance", variance)
    scale = _positive("scale", scale)
    priors = np.full(n_classes, (1.0 - prior_first) / (n_classes - 1))
    priors[0] = prior_first
    counts = np.rint(priors * n_samples).astype(np.int64)
    if not counts.all():
        k = int(counts.argmin())
        raise ArgumentError(
            "n_samples",
            "must be large enough for a sample of every class, "
            f"but {n_samples} times the prior {priors[k]:.3g} of class {k} rounds to 0",
        )

    y_true = np.repeat(np.arange(n_classes), counts)
    x = sqrt(variance) * _generator(seed).standard_normal((y_true.size, n_classes))
    x[np.arange(y_true.size), y_true] += sqrt(0.5)
    # All means have the same norm, so the quadratic terms of log N(x; mean_i, variance) cancel.
    log_likelihoods = sqrt(0.5) / variance * x
    mismatched_priors = np.full(n_classes, 0.1 / (n_classes - 1))
    mismatched_priors[-1] = 0.9
    cal = _log_softmax(log_likelihoods + np.log(priors))
    mcp = _log_softmax(log_likelihoods + np.log(mismatched_priors))
    mcs, mcps = _log_softmax(scale * cal), _log_softmax(scale * mcp)
    return SyntheticSystems(y_true, cal, mcs, mcp, mcps, priors)


def trial_list(
    n_targets: int = 3_658,
    n_nontargets: int = 718_130,
    *,
    n_speakers: int | None = None,
    n_sessions_per_speaker: int = _SESSIONS,
    speaker_variance: float = 0.48,
    speaker_spread: float = 0.06,
    scale: float = 0.75,
    shift: float = 1.8,
    seed: int | np.random.Generator = 0,
) -> TrialList:
    r"""Simulate a scored list of speaker-verification trials that share speakers and sessions.

    A session is a vector :math:`x = s + e` of 64 dimensions, with the speaker's own
    :math:`s \sim \mathcal{N}(0, \rho I)` and a deviation
    :math:`e \sim \mathcal{N}(0, g^2 (1 - \rho) I)`. The system is a PLDA that knows
    :math:`\rho`, assumes :math:`g = 1`, and reports a scaled and shifted score:

    .. math::
        \mathrm{llr} = \mathrm{scale} \cdot
        \log \frac{p(x_1, x_2 \mid \text{one speaker})}{p(x_1)\, p(x_2)} + \mathrm{shift}

    Parameters
    ----------
    n_targets, n_nontargets : int, default 3,658 and 718,130
        Number of trials of each class.
    n_speakers : int, optional
        Number of speakers; by default the smallest number for which each class uses at most 90 % of
        its possible pairs.
    n_sessions_per_speaker : int, default 7
        Sessions of each speaker, at least 2. A session may occur on both sides, in different
        trials.
    speaker_variance : float, default 0.48
        Fraction :math:`\rho` of the variance that lies between speakers, strictly between 0 and 1:
        the larger, the easier the task.
    speaker_spread : float, default 0.06
        Standard deviation of log g over speakers: how much the variability within a speaker differs
        between speakers.
    scale : float, default 0.75
        Factor of the log-likelihood ratios of the PLDA; positive.
    shift : float, default 1.8
        Constant added after scaling, in nats.
    seed : int or numpy.random.Generator, default 0
        Seed of a PCG64 generator, or a generator to draw from.

    Returns
    -------
    TrialList
        Trials are in random order.

    Raises
    ------
    ValueError
        If there are too few speakers and sessions for so many different trials, or an argument is
        out of range.

    Notes
    -----
    A target trial pairs two sessions of one speaker, a non-target trial sessions of two speakers.
    The trials of each class are drawn uniformly, without replacement, from all such pairs. A pair
    with its sides swapped counts as the same pair, since its score is the same.

    Trials are correlated because they share vectors. Speakers far from the origin are easy to
    recognize, those near it resemble many, and those with a large g are often missed: the sheep,
    lambs, wolves and goats of [2]_. The standard error of the miss rate is about twice that of
    independent trials.

    By default the list has the size of the core condition of SITW, and its metrics, raw and
    calibrated, are close to those of an x-vector system in [3]_ (Table 2). Memory and time are
    linear in the number of trials.

    References
    ----------
    .. [1] N. Brümmer and E. de Villiers, "The speaker partitioning problem", Odyssey 2010.
    .. [2] G. Doddington et al., "Sheep, goats, lambs and wolves: a statistical analysis of speaker
       performance in the NIST 1998 speaker recognition evaluation", ICSLP 1998.
    .. [3] L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper
       Scoring Rules, and Calibration", 2024, arXiv:2408.02841.

    Examples
    --------
    >>> from fastpsr import simulate
    >>> trials = simulate.trial_list(100, 900)
    >>> trials.llr.shape, trials.y_true.sum().item()
    ((1000,), 100)
    >>> same_speaker = trials.enroll_speaker == trials.test_speaker
    >>> bool((same_speaker == (trials.y_true == 1)).all())
    True
    """
    checks.check_integer("n_targets", n_targets, 1)
    checks.check_integer("n_nontargets", n_nontargets, 1)
    checks.check_integer("n_sessions_per_speaker", n_sessions_per_speaker, 2)
    speaker_variance = checks.as_inner_number("speaker_variance", speaker_variance)
    speaker_spread = checks.check_number(
        "speaker_spread", speaker_spread, 0.0, 10.0, "lie in 0 to 10"
    )
    scale = _positive("scale", scale)
    shift = checks.check_number("shift", shift, -1e100, 1e100, "lie in -1e100 to 1e100")
    if n_speakers is None:
        n_speakers = _enough_speakers(n_targets, n_nontargets, n_sessions_per_speaker)
    checks.check_integer("n_speakers", n_speakers, 2)
    n_sessions = int(n_speakers) * int(n_sessions_per_speaker)
    checks.check_number("n_speakers", n_sessions, 4, 1e9, "make at most 1e9 sessions in all")
    target_pairs = n_speakers * _n_pairs(n_sessions_per_speaker)
    nontarget_pairs = _n_pairs(n_speakers) * n_sessions_per_speaker**2
    made_by = f"pairs that {n_speakers} speakers with {n_sessions_per_speaker} sessions each make"
    rule = f"be at most {target_pairs}, the number of target {made_by}"
    checks.check_number("n_targets", n_targets, 1, target_pairs, rule)
    rule = f"be at most {nontarget_pairs}, the number of non-target {made_by}"
    checks.check_number("n_nontargets", n_nontargets, 1, nontarget_pairs, rule)

    rng = _generator(seed)
    enroll, test, y_true = _draw_trials(
        rng, n_targets, n_nontargets, n_speakers, n_sessions_per_speaker
    )
    vectors = _draw_sessions(
        rng, n_speakers, n_sessions_per_speaker, speaker_variance, speaker_spread
    )
    return TrialList(
        y_true=y_true,
        llr=scale * _plda_llrs(vectors, enroll, test, speaker_variance) + shift,
        enroll_speaker=enroll // n_sessions_per_speaker,
        test_speaker=test // n_sessions_per_speaker,
        enroll=enroll,
        test=test,
    )


def challenge(
    n_targets: int = 2_000,
    n_nontargets: int = 40_000,
    *,
    seed: int | np.random.Generator = 0,
) -> tuple[ChallengeList, ChallengeList]:
    r"""Simulate a challenge: a development and an evaluation list, two systems, and durations.

    The lists have different speakers. System k makes a vector :math:`x_k = s + e_k` of 64
    dimensions of a recording of t seconds, with the speaker's :math:`s \sim \mathcal{N}(0, 0.52 I)`
    and noise :math:`e_k \sim \mathcal{N}(0, 0.48\, n_k^2 (1 + 4 / t) I)`. The score of a trial is
    the cosine similarity of two vectors. System b is noisier: :math:`n_a = 1, n_b = 1.1`. The noise
    of both has correlation 0.6, since they hear the same recordings.

    Parameters
    ----------
    n_targets, n_nontargets : int, default 2,000 and 40,000
        Number of trials of each class in each list.
    seed : int or numpy.random.Generator, default 0
        Seed of a PCG64 generator, or a generator to draw from.

    Returns
    -------
    development, evaluation : ChallengeList
        Trials are in random order, drawn as in :func:`trial_list` from 7 recordings of each
        speaker.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Durations are log-normal with a median of 8 s, limited to 1 s to 60 s. Short recordings lower
    the scores of target trials and leave the scores of non-targets around 0, so that a good
    threshold depends on durations.

    Examples
    --------
    >>> from fastpsr import simulate
    >>> development, evaluation = simulate.challenge(100, 900)
    >>> development.a.shape, evaluation.y_true.sum().item()
    ((1000,), 100)
    >>> int(development.test_speaker.max()) < int(evaluation.enroll_speaker.min())
    True
    """
    for name, n_trials in {"n_targets": n_targets, "n_nontargets": n_nontargets}.items():
        checks.check_integer(name, n_trials, 1)
        checks.check_number(name, n_trials, 1, 1e9, "be at most 1e9")
    n_speakers = _enough_speakers(n_targets, n_nontargets, _SESSIONS)
    rng = _generator(seed)
    return (
        _challenge_list(rng, n_targets, n_nontargets, n_speakers, 0),
        _challenge_list(rng, n_targets, n_nontargets, n_speakers, n_speakers),
    )


def _challenge_list(
    rng: np.random.Generator, n_targets: int, n_nontargets: int, n_speakers: int, first: int
) -> ChallengeList:
    """Return a list whose speakers are numbered from `first`."""
    enroll, test, y_true = _draw_trials(rng, n_targets, n_nontargets, n_speakers, _SESSIONS)
    seconds = _SECONDS * np.exp(_SPREAD * rng.standard_normal(n_speakers * _SESSIONS))
    seconds = np.clip(seconds, _SHORTEST, _LONGEST)
    by_system = _draw_embeddings(rng, n_speakers, seconds)
    scores = {name: _products(vectors, enroll, test) for name, vectors in by_system.items()}
    return ChallengeList(
        y_true=y_true,
        **scores,
        enroll=first * _SESSIONS + enroll,
        test=first * _SESSIONS + test,
        enroll_speaker=first + enroll // _SESSIONS,
        test_speaker=first + test // _SESSIONS,
        enroll_seconds=seconds[enroll],
        test_seconds=seconds[test],
    )


# Choice of trials


def _draw_trials(
    rng: np.random.Generator, n_targets: int, n_nontargets: int, n_speakers: int, n_sessions: int
) -> tuple[Integers, Integers, Integers]:
    """Return the sessions of both sides of different trials, and labels, in random order."""
    targets = _draw_distinct(rng, n_targets, n_speakers * _n_pairs(n_sessions))
    nontargets = _draw_distinct(rng, n_nontargets, _n_pairs(n_speakers) * n_sessions**2)
    speaker, session_pair = np.divmod(targets, _n_pairs(n_sessions))
    of_targets = speaker * n_sessions + _round_robin(session_pair, n_sessions)
    speaker_pair, sessions = np.divmod(nontargets, n_sessions**2)
    speakers = _round_robin(speaker_pair, n_speakers)
    of_nontargets = speakers * n_sessions + np.stack(np.divmod(sessions, n_sessions))
    pairs = np.concatenate([of_targets, of_nontargets], axis=1)
    order = rng.permutation(n_targets + n_nontargets)
    return pairs[0, order], pairs[1, order], (order < n_targets).astype(np.int64)


def _n_pairs(n: int) -> int:
    return n * (n - 1) // 2


def _enough_speakers(n_targets: int, n_nontargets: int, n_sessions: int) -> int:
    """Return the least number of speakers for which trials use at most `_FULLEST` of the pairs."""
    for_targets = n_targets / _FULLEST / _n_pairs(n_sessions)
    speaker_pairs = n_nontargets / _FULLEST / n_sessions**2
    for_nontargets = 0.5 + sqrt(0.25 + 2.0 * speaker_pairs)  # n (n - 1) / 2 = speaker_pairs
    return ceil(max(for_targets, for_nontargets, 2.0))


def _draw_distinct(rng: np.random.Generator, size: int, n_possible: int) -> Integers:
    """Return `size` distinct integers below `n_possible`; all sets are equally likely."""
    if n_possible <= 2 * size:
        return rng.permutation(n_possible)[:size]
    # Sparse: draw with replacement, so that memory is proportional to `size`.
    pool: Integers = np.empty(0, np.int64)
    while pool.size < size:
        pool = np.sort(np.concatenate([pool, rng.integers(n_possible, size=size)]))
        pool = pool[np.diff(pool, prepend=-1) > 0]  # np.unique hashes, here 20 times slower
    return rng.permutation(pool)[:size]


def _round_robin(index: Integers, n: int) -> Integers:
    """Return the members of the pairs of n with these numbers, (2, pairs)."""
    first = index % n
    return np.stack([first, (first + index // n + 1) % n])


# Scores


def _draw_sessions(
    rng: np.random.Generator, n_speakers: int, n_sessions: int, variance: float, spread: float
) -> Floats:
    """Return the sessions' vectors, shape (sessions, dimensions), of variance 1 on average."""
    speakers = sqrt(variance) * rng.standard_normal((n_speakers, 1, _DIMENSIONS))
    # The mean of g squared is 1, so the PLDA is right on average.
    g = np.exp(spread * rng.standard_normal((n_speakers, 1, 1)) - spread**2)
    vectors = rng.standard_normal((n_speakers, n_sessions, _DIMENSIONS))
    vectors *= sqrt(1.0 - variance) * g
    vectors += speakers
    return vectors.reshape(-1, _DIMENSIONS)


def _plda_llrs(vectors: Floats, enroll: Integers, test: Integers, variance: float) -> Floats:
    """Return log N(x1, x2; 0, [[1, v], [v, 1]]) / (N(x1; 0, 1) N(x2; 0, 1)), over dimensions."""
    determinant = (1.0 - variance) * (1.0 + variance)
    squares = -0.5 * variance**2 / determinant * np.einsum("ij,ij->i", vectors, vectors)
    llrs: Floats = squares[enroll] + squares[test] - 0.5 * _DIMENSIONS * log(determinant)
    products = _products(vectors, enroll, test)
    products *= variance / determinant
    llrs += products
    return llrs


def _draw_embeddings(
    rng: np.random.Generator, n_speakers: int, seconds: Floats
) -> dict[str, Floats]:
    """Return each system's vectors of all recordings, of length 1."""
    shape = (seconds.size, _DIMENSIONS)
    speakers = sqrt(_SPEAKER_VARIANCE) * rng.standard_normal((n_speakers, _DIMENSIONS))
    speakers = np.repeat(speakers, _SESSIONS, axis=0)
    spread = np.sqrt((1.0 - _SPEAKER_VARIANCE) * (1.0 + _HALFWAY / seconds))[:, None]
    shared = sqrt(_SHARED) * rng.standard_normal(shape)
    embeddings = {}
    for name, noise in _NOISE.items():
        own_part = sqrt(1.0 - _SHARED) * rng.standard_normal(shape)
        vectors = speakers + noise * spread * (shared + own_part)
        embeddings[name] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return embeddings


def _products(vectors: Floats, enroll: Integers, test: Integers) -> Floats:
    """Return the inner products of the vectors of both sides."""
    products = np.empty(enroll.size)
    for start in range(0, enroll.size, _ROWS):
        rows = slice(start, start + _ROWS)
        products[rows] = np.einsum("ij,ij->i", vectors[enroll[rows]], vectors[test[rows]])
    return products


def _generator(seed: int | np.random.Generator) -> np.random.Generator:
    if isinstance(seed, np.random.Generator):
        return seed
    checks.check_integer("seed", seed, 0)
    return np.random.Generator(np.random.PCG64(seed))


def _log_softmax(z: Floats) -> Floats:
    z = z - z.max(axis=1, keepdims=True)
    z -= np.log(np.exp(z).sum(axis=1, keepdims=True))
    return z


def _positive(name: str, value: float) -> float:
    # Beyond these ends scores would overflow.
    return checks.check_number(name, value, 1e-100, 1e100, "be positive, from 1e-100 to 1e100")
