"""The values of Table 2 that do not come out, calibrated with psrcal on the same folds.

    python docs/paper/by_psrcal.py --data DIR

It needs torch and psrcal 1.0.0. DIR is the folder of the published scores, as of table2.py.
"""

from pathlib import Path

import common
import numpy as np
import torch
from psrcal.calibration import AffineCalLogLoss, calibrate
from scipy.special import log_softmax
from sklearn.model_selection import StratifiedKFold

import fastpsr as fp


def cross_fit_by_psrcal(y: np.ndarray, log_q: np.ndarray) -> fp.Predictions:
    log_q, labels = torch.as_tensor(log_q, dtype=torch.float32), torch.as_tensor(y)
    calibrated = np.empty(log_q.shape)
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(y, y):
        fitted = calibrate(log_q[train], labels[train], log_q[test], AffineCalLogLoss)[0]
        calibrated[test] = fitted.detach()
    return fp.Predictions.from_logits(y, calibrated)


def cross_fit(data: fp.Predictions) -> fp.Predictions:
    folds = np.empty(len(data), int)
    splitter = StratifiedKFold(5, shuffle=True, random_state=0)
    for fold, (_, test) in enumerate(splitter.split(data.y_true, data.y_true)):
        folds[test] = fold
    return fp.cross_fit(fp.DirectionPreserving(), data, fp.CrossFit(folds=folds))


def read(folder: Path) -> tuple[np.ndarray, np.ndarray, fp.Predictions]:
    scores, y = (np.load(folder / name) for name in ("scores.npy", "targets.npy"))
    return scores, y.astype(int), fp.Predictions.from_logits(y, scores)


def main() -> None:
    options = common.parser(__doc__, data=True).parse_args()
    print("FVCAUS XvPLDA, RCL by psrcal and by fastpsr")
    _, y, raw = read(options.data / "fvcaus_plda")
    loss = fp.CrossEntropy(normalized=False)
    pav = fp.cross_fit(fp.PAV(floor=1e-30), raw, fp.TrainOnTest())
    for name, theirs, ours in (
        ("cal", cross_fit_by_psrcal(y, raw.log_posteriors), cross_fit(raw)),
        ("calp", pav, pav),
    ):
        again = cross_fit_by_psrcal(y, theirs.log_posteriors)
        both = (1 - loss(again) / loss(theirs), 1 - loss(cross_fit(ours)) / loss(ours))
        print(f"  {name:<5}", *(f"{100 * rcl:8.3f}" for rcl in both))
    print("CIFAR100 Vgg19, cal")
    scores, y, raw = read(options.data / "cifar100_vgg19_bn")
    reject = fp.BayesRisk(fp.CostMatrix.zero_one(100, reject=0.1))
    single = cross_fit_by_psrcal(y, log_softmax(scores, axis=1))
    calibrated = {
        "fastpsr": cross_fit(raw),
        "psrcal, log-softmax in double precision": cross_fit_by_psrcal(y, raw.log_posteriors),
        "psrcal, log-softmax in single precision": single,
    }
    for name, data in calibrated.items():
        ece = 100 * fp.ECE(on="confidence")(data)
        nce = fp.CrossEntropy()(data)
        print(f"  {name}: NCE {nce:.5f}, Cab {reject(data):.4f}, ECEmc {ece:.3f}")
        for row in (4233, 7040):
            top = data.posteriors[row].max() - 0.9
            correct = data.posteriors[row].argmax() == y[row]
            print(f"    sample {row}: {top:+.1e} from the threshold, correct: {correct}")


if __name__ == "__main__":
    main()
