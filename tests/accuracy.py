"""How far values are from exact ones, in units of what is promised.

Promised is a relative error of 1e-12, or an absolute one of 1e-14.
"""

import warnings
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

import numpy as np

import fastpsr as fp
from tests import exact, reference_detection, samples

RELATIVE, ABSOLUTE = 1e-12, 1e-14
N = 40


@dataclass
class Errors:
    """The worst errors by name."""

    share: dict = field(default_factory=dict)  # of what is promised
    relative: dict = field(default_factory=dict)
    cases: dict = field(default_factory=dict)
    at: dict = field(default_factory=dict)

    def add(self, name, found, expected, where=""):
        self.cases[name] = self.cases.get(name, 0) + 1
        share, relative = errors_of(found, expected)
        self.relative[name] = max(self.relative.get(name, 0.0), relative)
        if share >= self.share.get(name, -1.0):
            self.share[name], self.at[name] = share, where

    def failures(self):
        return {name: (share, self.at[name]) for name, share in self.share.items() if share > 1.0}


def errors_of(found, expected):
    """Error as a share of what is promised, and relative; 0 where both are infinite or nan."""
    if not np.isfinite(float(expected)):
        same = float(found) == float(expected) or (np.isnan(found) and np.isnan(float(expected)))
        return (0.0, 0.0) if same else (np.inf, np.inf)
    if not np.isfinite(found):
        return np.inf, np.inf
    error = abs(type(expected)(found) - expected)
    size = abs(expected)
    relative = float(error / size) if size else (0.0 if not error else np.inf)
    share = float(error) / max(RELATIVE * float(size), ABSOLUTE)
    return share, (relative if float(size) > 1e-2 else share * RELATIVE)


# Small samples against 50 digits


def configurations(few):
    found = [*product(samples.CLASS_COUNTS, samples.SCORES, samples.WEIGHTS, (False, True))]
    return found[:: 11 if few else 1]


def compare_with_exact(few=True, seeds=(0,)):
    """Every metric on small samples."""
    errors = Errors()
    for seed, (K, scores, weights, priors) in product(seeds, configurations(few)):
        sample = samples.make(K, N, scores=scores, weights=weights, priors=priors, seed=seed)
        where = f"K {K}, {scores}, weights {weights}, priors {priors}, seed {seed}"
        _expected_scores(errors, sample, where)
        _decisions(errors, sample, where)
        if K == 2:
            _one_score(errors, sample, where)
    for seed, kind, weights in product(seeds, ("plain", "tied", "outliers", "reversed"),
                                       ("none", "integer", "wild")):  # fmt: skip
        _detection(errors, kind, weights, seed)
    return errors


def _expected_scores(errors, sample, where):
    K = sample.log_q.shape[1]
    y, predictions = sample.y, sample.predictions
    mass = exact.masses(y, K, sample.weights, sample.priors)
    rows = [exact.log_softmax(row) for row in sample.log_q]
    rng = np.random.default_rng(K)
    r = rng.dirichlet(np.ones(K), N)
    reference_rows = [exact.posteriors(exact.logarithms(row)) for row in r]
    given = fp.Predictions.from_posteriors(None, r)
    for (name, losses), normalized in product(exact.RULES.items(), (False, True)):
        rule = {"log": fp.rules.Log(), "brier": fp.rules.Brier()}[name]
        metric = {"log": fp.CrossEntropy, "brier": fp.BrierScore}[name](normalized)
        value = exact.expected_score(y, rows, mass, losses, normalized)
        errors.add(type(metric).__name__, metric(predictions), value, where)
        errors.add("ExpectedScore", fp.ExpectedScore(rule, normalized)(predictions), value, where)
        metric = fp.SemiEmpiricalScore(rule, given, normalized)
        value = exact.semi_empirical(rows, reference_rows, mass, losses, normalized)
        errors.add("SemiEmpiricalScore", metric(predictions), value, where)
    # posteriors as they come, (N, K) and (N,)
    q = rng.dirichlet(np.ones(K), N)
    rows = [exact.logarithms(row) for row in q]
    options = {"priors": sample.priors, "sample_weight": sample.weights}
    given = [fp.Predictions.from_posteriors(y, q, **options)]
    if K == 2:
        given.append(fp.Predictions.from_posteriors(y, q[:, 1].copy(), **options))
    for place, predictions in enumerate(given):
        if place:
            rows = [exact.log_pair(v) for v in q[:, 1]]
        for metric, losses in ((fp.CrossEntropy(), exact.log_losses),
                               (fp.BrierScore(), exact.brier_losses)):  # fmt: skip
            value = exact.expected_score(y, rows, mass, losses, True)
            errors.add(type(metric).__name__, metric(predictions), value, where)


def _decisions(errors, sample, where):
    K = sample.log_q.shape[1]
    y, predictions = sample.y, sample.predictions
    mass = exact.masses(y, K, sample.weights, sample.priors)
    costs = samples.COSTS[K]
    decided = fp.bayes_decisions(predictions, costs)
    for normalized in (False, True):
        value = exact.expected_cost(y, decided, costs, mass, normalized)
        errors.add("BayesRisk", fp.BayesRisk(costs, normalized)(predictions), value, where)
        found = fp.expected_cost(y, decided, costs, priors=sample.priors, normalized=normalized,
                                 sample_weight=sample.weights)  # fmt: skip
        errors.add("expected_cost", found, value, where)
    rows = [exact.log_softmax(row) for row in sample.log_q]
    points = np.random.default_rng(3).dirichlet(np.full(K, 2.0), 4)
    found = fp.risk_curve(predictions, points).risk
    for point, risk in zip(points, found, strict=True):
        errors.add("risk_curve", risk, exact.risk_at(y, rows, mass, point), where)
    if K == 2:
        _divergence_curve(errors, predictions, rows, mass, where)


def _divergence_curve(errors, predictions, rows, mass, where):
    r = [exact.posteriors(row) for row in rows]
    points = [0.02, 0.5, 0.7]
    for rule, losses in (
        (fp.rules.Log(), exact.log_losses),
        (fp.rules.Brier(), exact.brier_losses),
    ):
        curve = fp.divergence_curve(predictions, rule, points)
        own = exact.mean(exact.expected_under(rows, r, losses), mass)
        for point, found in zip(points, curve.divergence, strict=True):
            constant = [exact.logarithms([point, 1.0 - point])] * len(rows)
            value = exact.mean(exact.expected_under(constant, r, losses), mass) - own
            errors.add("divergence_curve", found, value, where)


def _one_score(errors, sample, where):
    y, w, priors = sample.y, sample.weights, sample.priors
    mass = exact.masses(y, 2, w, priors)
    q = np.asarray(sample.predictions.posteriors[:, 1])
    given = fp.Predictions.from_posteriors(y, q, priors=priors, sample_weight=w)
    for bins, norm in product((1, 4, 15), (1, 2)):
        value = exact.ece(q, y, mass, bins, norm)
        errors.add("ECE", fp.ECE(bins, norm=norm)(given), value, where)
    sure = np.maximum(q, 1.0 - q)
    hits = np.where(q == 1.0 - q, y == 0, (q > 0.5) == (y == 1)).astype(int)
    value = exact.ece(sure, hits, mass, 10, 1)
    errors.add("ECE", fp.ECE(10, "confidence")(given), value, where)
    rows = [exact.log_pair(v) for v in q]
    makers = {
        "PAV": (fp.PAV(), lambda: exact.pav_rows(given.log_odds, y, mass)),
        "HistogramBinning": (fp.HistogramBinning(6), lambda: exact.histogram_rows(q, y, mass, 6)),
    }
    for name, (calibrator, make) in makers.items():
        calibrated = make()
        for rule_name, losses in exact.RULES.items():
            rule = {"log": fp.rules.Log(), "brier": fp.rules.Brier()}[rule_name]
            raw = exact.expected_score(y, rows, mass, losses, False)
            after = exact.expected_score(y, calibrated, mass, losses, False)
            metric = fp.CalibrationLoss(rule, calibrator, fp.TrainOnTest())
            value = exact.calibration_loss(raw, after)
            if abs(float(value)) < 1e-9 and abs(raw - after) < 1e-30:
                value = exact.mp.mpf(0)
            errors.add(f"CalibrationLoss, {name}", metric(given), value, where)
            metric = fp.ExpectedDivergence(rule, calibrator, fp.TrainOnTest())
            r = [exact.posteriors(row) for row in calibrated]
            value = exact.mean(exact.expected_under(rows, r, losses), mass) - exact.mean(
                exact.expected_under(calibrated, r, losses), mass
            )
            errors.add(f"ExpectedDivergence, {name}", metric(given), value, where)


def _detection(errors, kind, weights, seed):
    rng, y, s = samples.make_scores(kind)
    rng = np.random.default_rng([seed, 1])
    rows = rng.permutation(y.size)[:N]
    y, s = y[rows], s[rows] + (0.0 if kind in ("tied", "outliers") else seed)
    w = samples.make_weights(rng, weights, y, None) if weights != "none" else None
    if w is not None:
        w = np.asarray(w, float)
    where = f"{kind}, weights {weights}, seed {seed}"
    mass = exact.masses(y, 2, w)
    raw = fp.Predictions.from_raw_scores(y, s, sample_weight=w)
    llrs = fp.Predictions.from_llrs(y, s, sample_weight=w)
    errors.add("EER", fp.EER()(raw), exact.eer(s, y, mass), where)
    errors.add("AUC", fp.AUC()(raw), exact.auc(s, y, mass), where)
    for p in (0.5, 0.01, 1e-6):
        errors.add("MinCllr", fp.MinCllr(p)(raw), exact.min_cllr(s, y, mass, p), where)
        errors.add("Cllr", fp.Cllr(p)(llrs), exact.cllr(s, y, mass, p), where)
        point = (p, 1.0, 1.0 if p == 0.5 else 10.0)
        errors.add("MinDCF", fp.MinDCF(*point)(raw), exact.min_dcf(s, y, mass, *point), where)
        errors.add("ActDCF", fp.ActDCF(*point)(llrs), exact.act_dcf(s, y, mass, *point), where)
    errors.add("DevPAV", fp.DevPAV()(llrs), exact.dev_pav(s, y, mass), where)
    _operating_points(errors, raw, llrs, (s, y, np.ones(y.size) if w is None else w), where)
    curve = fp.roc(raw)
    used = sorted({float(x) for x, m in zip(s, mass, strict=True) if m})
    at = dict(zip(used, exact.rate_points(s, y, mass)[:-1], strict=True))
    for threshold, *rates in list(zip(curve.threshold, curve.p_miss, curve.p_fa, strict=True))[:-1]:
        for rate, expected in zip(rates, at[float(threshold)], strict=True):
            errors.add("roc", rate, exact.number(expected), where)
    _curves(errors, y, s, w, mass, where)
    if kind in ("plain", "reversed"):
        _affine(errors, y, s, w, mass, where)


def _operating_points(errors, raw, llrs, trials, where):
    s, y, w = trials
    value = exact.number(reference_detection.crossing(*trials))
    errors.add("EER, crossing", fp.EER("crossing")(raw), value, where)
    _, p_miss, p_fa = reference_detection.nearest(*trials)
    errors.add("EER, nearest", fp.EER("nearest")(raw), exact.number((p_miss + p_fa) / 2), where)
    for metric, (threshold, p_miss, p_fa) in (
        (fp.MissRate(0.13), reference_detection.miss_rate(*trials, 0.13)),
        (fp.FalseAlarmRate(0.13), reference_detection.false_alarm_rate(*trials, 0.13)),
    ):
        name, point = type(metric).__name__, metric.operating_point(raw)
        value = p_miss if isinstance(metric, fp.MissRate) else p_fa
        errors.add(name, metric(raw), exact.number(value), where)
        errors.add("OperatingPoint, p_miss", point.p_miss, exact.number(p_miss), where)
        errors.add("OperatingPoint, p_fa", point.p_fa, exact.number(p_fa), where)
        errors.add("Threshold", fp.Threshold(metric)(raw), exact.exactly(threshold), where)
    kinds = np.where(y == 1, "target", np.where(np.arange(y.size) % 3 == 0, "spoof", "nontarget"))
    used = [(x, kind, Fraction(u)) for x, kind, u in zip(s, kinds, w, strict=True) if u]
    if len({kind for _, kind, _ in used}) == 3:
        columns = list(zip(*used, strict=True))
        costs = [Fraction(c) for c in (0.05, 0.05, 1.0, 10.0, 20.0)]
        value = exact.number(reference_detection.min_adcf(*columns, costs))
        errors.add("MinADCF", fp.MinADCF(kinds == "spoof")(raw), value, where)
        value = exact.number(reference_detection.act_adcf(*columns, costs))
        errors.add("ActADCF", fp.ActADCF(kinds == "spoof")(llrs), value, where)


def _curves(errors, y, s, w, mass, where):
    """What is drawn of LLRs, number by number."""
    llrs = fp.Predictions.from_llrs(y, s, sample_weight=w)
    log_odds = [-7.0, -0.1, 0.0, 2.3]
    curve = fp.bayes_error(llrs, log_odds)
    for t, *found in zip(log_odds, curve.actual, curve.minimum, strict=True):
        for value, expected in zip(found, exact.bayes_errors(s, y, mass, t), strict=True):
            errors.add("bayes_error", value, expected, where)
    log_odds = [-5.8, 0.0, 3.1]
    curve = fp.empirical_cross_entropy(llrs, log_odds)
    for t, *found in zip(log_odds, curve.raw, curve.pav, curve.null, strict=True):
        prior = exact.prior_at(exact.exactly(t))
        nats = [exact.log_loss_at(s, y, mass, prior), exact.min_log_loss_at(s, y, mass, prior),
                exact.log_loss_of_prior(prior)]  # fmt: skip
        for value, expected in zip(found, nats, strict=True):
            errors.add("empirical_cross_entropy", value, expected / exact.mp.log(2), where)
    curves = fp.tippett(llrs)
    for k, scores, shares in (
        (0, curves.nontarget_scores, curves.p_nontarget),
        (1, curves.target_scores, curves.p_target),
    ):
        members = y == k
        expected = exact.survival(s[members], [m for m, c in zip(mass, y, strict=True) if c == k])
        for score, share in zip(scores, shares, strict=True):
            errors.add("tippett", share, expected.pop(float(score)), where)
        assert not expected
    edges = [-2.0, 0.0, 0.5, 4.0]
    counts = fp.score_histogram(llrs, edges)
    for b, k in product(range(3), (0, 1)):
        inside = (edges[b] <= s) & (s < edges[b + 1]) & (y == k)
        expected = sum((exact.Fraction(float(v)) for v in (np.ones(N) if w is None else w)[inside]),
                       exact.Fraction(0))  # fmt: skip
        found = (counts.negatives, counts.positives)[k][b]
        errors.add("score_histogram", found, exact.number(expected), where)
    raw = fp.Predictions.from_raw_scores(y, s, sample_weight=w)
    steps, blocks = fp.pav_steps(raw), exact.pav(s, y, mass)
    for place, (low, high, positive, negative) in enumerate(blocks):
        assert (steps.lowest[place], steps.highest[place]) == (low, high)
        log_odds = [
            exact.mp.log(exact.number(v)) if v else -exact.INF for v in (positive, negative)
        ]
        errors.add("pav_steps", steps.log_odds[place], log_odds[0] - log_odds[1], where)
        share = exact.number(positive / (positive + negative))
        errors.add("pav_steps", steps.posterior[place], share, where)
        errors.add("PavPosterior", fp.PavPosterior(low)(raw), share, where)
    assert place == steps.lowest.size - 1


def _affine(errors, y, s, w, mass, where):
    """Fits on log-odds, and to LLRs, whose training prior is added."""
    for make, add_prior in ((fp.Predictions.from_logits, False), (fp.Predictions.from_llrs, True)):
        data = make(y, s, sample_weight=w)
        for calibrator, with_bias in ((fp.DirectionPreserving(), True),
                                      (fp.TemperatureScaling(), False)):  # fmt: skip
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "the fitted scale", RuntimeWarning)
                fitted = calibrator.fit(data)
                metric = fp.CalibrationLoss(fp.rules.Log(), calibrator, fp.TrainOnTest())
                found = metric(data)
            shift = float(fitted.bias_[1] - fitted.bias_[0])
            scale, shift = exact.fit_affine(
                s, y, mass, (fitted.scale_, shift), add_prior, with_bias
            )
            name = type(calibrator).__name__
            errors.add(f"{name}, scale", fitted.scale_, scale, where)
            p = exact.class_priors(y, 2, mass)
            offset = exact.mp.log(exact.number(p[1] / p[0])) if add_prior else exact.mp.mpf(0)
            raw = [exact.log_sigmoids(exact.exactly(x) + offset) for x in s]
            after = [exact.log_sigmoids(scale * exact.exactly(x) + shift + offset) for x in s]
            scores = [exact.expected_score(y, rows, mass, exact.log_losses, False)
                      for rows in (raw, after)]  # fmt: skip
            value = exact.calibration_loss(*scores)
            errors.add(f"CalibrationLoss, {name}", found, value, where)


# Many samples against long double, and sums of integers that Python takes exactly


def compare_with_long_double(n=1_000_000, n_fit=200_000, seed=0):
    """Every metric on many samples; where NumPy has an extended precision."""
    errors = Errors()
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.2).astype(np.int64)
    llr = np.round(3.0 * rng.normal(size=n) + 4.0 * y - 2.0, 3)  # ties among many
    w = rng.integers(1, 1 << 20, n).astype(float)  # sums of which are exact
    where = f"{n:,} samples"
    for weights, name in ((None, ""), (w, ", weighted")):
        _sums_of_many(errors, y, llr, weights, where + name)
        _ranks_of_many(errors, y, np.round(llr, 2), weights, where + name)  # for exact fractions
    _many_classes(errors, rng, n // 4, where)
    _affine_of_many(errors, y[:n_fit], llr[:n_fit], w[:n_fit], f"{n_fit:,} samples")
    return errors


def _long(x):
    return np.asarray(x).astype(np.longdouble)


def _softplus(x):
    x = _long(x)
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _binary_scores(log_odds, y, w):
    """Mean log loss and Brier score, and those of the priors."""
    w = _long(w if w is not None else np.ones(y.size))
    signed = np.where(y == 1, -_long(log_odds), _long(log_odds))
    log_loss = _softplus(signed)
    wrong = np.exp(-_softplus(-signed))
    total = w.sum()
    p = np.array([w[y == k].sum() for k in (0, 1)]) / total
    naive = -(p * np.log(p)).sum(), p[0] * p[1]
    return ((w * log_loss).sum() / total, (w * wrong * wrong).sum() / total), naive


def _sums_of_many(errors, y, llr, w, where):
    data = fp.Predictions.from_logits(y, llr, sample_weight=w)
    llrs = fp.Predictions.from_llrs(y, llr, sample_weight=w)
    found, naive = _binary_scores(llr, y, w)
    errors.add("CrossEntropy", fp.CrossEntropy()(data), found[0] / naive[0], where)
    errors.add("BrierScore", fp.BrierScore()(data), found[1] / naive[1], where)
    for p in (0.5, 0.01):
        offset = np.log(_long(p)) - np.log1p(-_long(p))
        losses = [
            np.average(_softplus((1 - 2 * k) * (_long(llr[y == k]) + offset)),
                       weights=None if w is None else _long(w[y == k]))
            for k in (0, 1)
        ]  # fmt: skip
        prior = np.array([1.0 - p, p]).astype(np.longdouble)
        value = (prior * losses).sum() / -(prior * np.log(prior)).sum()
        errors.add("Cllr", fp.Cllr(p)(llrs), value, where)
    q = np.asarray(data.posteriors[:, 1])
    given = fp.Predictions.from_posteriors(y, q, sample_weight=w)
    mass = _long(w if w is not None else np.ones(y.size))
    edges = np.arange(1, 15) / 15
    place = np.searchsorted(edges, q, "left")
    gap = mass * (y - _long(q))
    gaps = np.array([gap[place == b].sum() for b in range(15)]) / mass.sum()
    errors.add("ECE", fp.ECE()(given), np.abs(gaps).sum(), where)
    costs = [[0.0, 1.0], [10.0, 0.0]]
    decided = fp.bayes_decisions(data, costs)
    wrong = [mass[(y == k) & (decided != k)].sum() for k in (0, 1)]
    share = [mass[y == k].sum() for k in (0, 1)]
    value = (wrong[0] + 10 * wrong[1]) / min(share[0], 10 * share[1])
    errors.add("BayesRisk", fp.BayesRisk(costs)(data), value, where)


def _ranks_of_many(errors, y, llr, w, where):
    values, place = np.unique(llr, return_inverse=True)
    mass = np.ones(y.size, np.int64) if w is None else w.astype(np.int64)
    of_class = [np.zeros(values.size, np.int64) for _ in (0, 1)]
    for k in (0, 1):
        np.add.at(of_class[k], place[y == k], mass[y == k])
    # the scores that there are, each as one sample of each class: exact from here on
    s = np.repeat(values, 2).tolist()
    c = [0, 1] * values.size
    m = [exact.Fraction(int(v)) for pair in zip(*of_class, strict=True) for v in pair]
    data = fp.Predictions.from_llrs(y, llr, sample_weight=w)
    errors.add("EER", fp.EER()(data), exact.eer(s, c, m), where)
    errors.add("AUC", fp.AUC()(data), exact.auc(s, c, m), where)
    errors.add("DevPAV", fp.DevPAV()(data), exact.dev_pav(s, c, m), where)
    for p in (0.5, 0.01):
        errors.add("MinCllr", fp.MinCllr(p)(data), exact.min_cllr(s, c, m, p), where)
        value = exact.min_dcf(s, c, m, p, 1.0, 1.0)
        errors.add("MinDCF", fp.MinDCF(p)(data), value, where)
        value = exact.act_dcf(s, c, m, p, 1.0, 1.0)
        errors.add("ActDCF", fp.ActDCF(p)(data), value, where)


def _many_classes(errors, rng, n, where):
    K = 5
    y = rng.integers(0, K, n)
    z = 2.0 * rng.normal(size=(n, K)) + 1.5 * np.eye(K)[y]
    data = fp.Predictions.from_logits(y, z)
    rows = _long(z) - _long(z).max(axis=1, keepdims=True)
    rows -= np.log(np.exp(rows).sum(axis=1, keepdims=True))
    p = np.bincount(y) / _long(n)
    value = -rows[np.arange(n), y].mean() / -(p * np.log(p)).sum()
    errors.add("CrossEntropy", fp.CrossEntropy()(data), value, f"{where}, 5 classes")
    value = ((np.exp(rows) - np.eye(K)[y]) ** 2).sum(axis=1).mean() / (p * (1 - p)).sum()
    errors.add("BrierScore", fp.BrierScore()(data), value, f"{where}, 5 classes")


def _fit_in_long_double(scores, y, w, start, offset):
    """Scale and shift of least log loss, by Newton's method from a start near the optimum."""
    x, w = _long(scores), _long(w)
    scale, shift = _long(start[0]), _long(start[1]) + offset
    for _ in range(20):
        q = np.exp(-_softplus(-(scale * x + shift)))
        error, spread = w * (q - y), w * q * (1 - q)
        e, ex = error.sum(), (error * x).sum()
        v, vx, vxx = spread.sum(), (spread * x).sum(), (spread * x * x).sum()
        determinant = vxx * v - vx * vx
        step = (v * ex - vx * e) / determinant, (vxx * e - vx * ex) / determinant
        scale, shift = scale - step[0], shift - step[1]
        if max(abs(step[0]), abs(step[1])) < 1e-16:
            break
    return scale, shift - offset


def _affine_of_many(errors, y, llr, w, where):
    """Fits by sums on an axis against fits to the samples: all, and in 5 folds."""
    folds = np.arange(y.size) % 5
    for make, add_prior in ((fp.Predictions.from_logits, False), (fp.Predictions.from_llrs, True)):
        data = make(y, llr, sample_weight=w)
        prior = np.log(_long(w[y == 1]).sum()) - np.log(_long(w[y == 0]).sum())
        raw_offset = prior if add_prior else np.longdouble(0)

        def offset_of(rows, add_prior=add_prior):
            held = [_long(w[rows & (y == k)]).sum() for k in (0, 1)]
            return np.log(held[1] / held[0]) if add_prior else np.longdouble(0)

        everything = np.ones(y.size, bool)
        fitted = fp.DirectionPreserving().fit(data)
        start = fitted.scale_, fitted.bias_[1] - fitted.bias_[0]
        scale, shift = _fit_in_long_double(llr, y, w, start, offset_of(everything))
        errors.add("DirectionPreserving, scale", fitted.scale_, scale, where)
        calibrated = np.empty(y.size, np.longdouble)
        for fold in range(5):
            rows = folds != fold
            found = _fit_in_long_double(llr[rows], y[rows], w[rows], start, offset_of(rows))
            calibrated[~rows] = found[0] * _long(llr[~rows]) + found[1]
        by_sums = fp.cross_fit(fp.DirectionPreserving(), data, fp.CrossFit(folds)).scores
        worst = np.abs(by_sums - calibrated) / np.maximum(np.abs(calibrated), 1)
        errors.add("cross_fit, DirectionPreserving", 1.0 + float(worst.max()), np.longdouble(1),
                   where)  # fmt: skip
        for place, (rule, train) in enumerate(
            [(fp.rules.Log(), fp.CrossFit(folds)), (fp.rules.Brier(), fp.CrossFit(folds)),
             (fp.rules.Log(), fp.TrainOnTest())]
        ):  # fmt: skip
            after = calibrated if place < 2 else scale * _long(llr) + shift
            which = 1 if place == 1 else 0
            scores = [_binary_scores(x + raw_offset, y, w)[0][which] for x in (_long(llr), after)]
            value = 100 * (scores[0] - scores[1]) / scores[0]
            metric = fp.CalibrationLoss(rule, fp.DirectionPreserving(), train)
            errors.add("CalibrationLoss by sums on an axis", metric(data), value, where)
