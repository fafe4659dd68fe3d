"""`fastpsr demo`: a script of public calls, which is printed as it runs."""

from typing import Any

from fastpsr.cli.show import console

_SCRIPT = """\
# A simulated speaker-verification test of the size and difficulty of SITW: 721,788 trials
import fastpsr as fp
trials = fp.simulate.trial_list(seed=0)
speakers = {"enroll": trials.enroll_speaker, "test": trials.test_speaker}
llrs = fp.Predictions.from_llrs(trials.y_true, trials.llr, columns=speakers)

# The usual metrics of such tests. ECE hardly shows that the LLRs are not calibrated: with 0.5 % of
# targets, nearly all trials fall into one bin.
print(fp.evaluate(llrs, ["EER", fp.MinDCF(0.01), "Cllr", "ECE"]))

# Affine calibration, cross-fitted; and the best monotone map, trained on these very trials
calibrated = fp.cross_fit(fp.DirectionPreserving(), llrs)
pav = fp.cross_fit(fp.PAV(), llrs, fp.TrainOnTest())

# Costs of Bayes decisions: errors alike; with a reject option; a miss ten times as bad. They and
# NCE, the cross-entropy, are divided by those of a system that returns the priors: 1 is useless.
metrics = {
    "C01": fp.BayesRisk(fp.CostMatrix.zero_one(2)),
    "Cab": fp.BayesRisk(fp.CostMatrix.zero_one(2, reject=0.1)),
    "Cimb": fp.BayesRisk(fp.CostMatrix.detection(c_miss=10, c_fa=1)),
    "NCE": fp.CrossEntropy(),
    "RCL": fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving()),
}

# RCL is the share of NCE that calibration would remove on other trials: about 0 once it is done.
print(fp.evaluate({"uncalibrated": llrs, "calibrated": calibrated, "PAV": pav}, metrics))

# Ferrer and Ramos (2024), Table 2, print for SITW:
# C01    0.324   0.306   0.304
# Cab    0.225   0.190   0.188
# Cimb   0.191   0.153   0.152
# NCE    0.189   0.158   0.155
# RCL   16.7 %  -0.1 %  -0.0 %

# Intervals: drawing trials takes each for independent of all others
print(fp.evaluate(llrs, metrics, n_resamples=200, seed=0))

# Drawing speakers keeps the trials of a speaker together: a test with other speakers
by_speaker = fp.TwoWay("enroll", "test")
evaluation = fp.evaluate(llrs, metrics, n_resamples=200, seed=0, resampling=by_speaker)
print(evaluation)
"""


def demo() -> None:
    """Simulate a speaker-verification test the size of SITW, evaluate it, and explain the table."""
    names: dict[str, Any] = {}
    for block in _SCRIPT.split("\n\n"):
        for line in block.strip().split("\n"):
            prompt = "" if line.startswith("#") else "... " if line[0] in " }" else ">>> "
            console.print(prompt + line)
        exec(block, names)
        console.print()
