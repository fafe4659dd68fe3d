"""The stress report: ``python -m tests.stress --markdown docs/stress.md``."""

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numba
import numpy as np
import scipy

import fastpsr as fp
from tests import accuracy, everything, fuzz, ulps

THREADS = ("1", "2", "4")
RUNS = 2
ROOT = Path(__file__).parent.parent


def table(head, rows):
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def fuzzing(seconds):
    outcomes, findings = fuzz.fuzz(seconds)
    checked, checked_fine = _bounds_checked(seconds)
    rows = [
        [f"`{name}`", *(f"{outcomes[name, kind]:,}" for kind in ("fine", "refused", "wrong"))]
        for name in fuzz.CASES
    ]
    total = [f"{sum(outcomes[name, kind] for name in fuzz.CASES):,}"
             for kind in ("fine", "refused", "wrong")]  # fmt: skip
    rows.append(["all", *total])
    return (
        f"""## Hostile arguments

{len(fuzz.COVERED)} public names, called for {seconds:g} s with arrays of every shape, stride, type
and byte order, with nan of all kinds, subnormal, huge and tied values, and wild weights. *Fine*:
the result has the right shape, type and range, and the same bits in whatever form the array came.
*Refused*: a `ValueError` that names the argument, or what the data lack. *Wrong*: anything else, a
warning that is not documented included.

{table(["case", "fine", "refused", "wrong"], rows)}

With every index checked (`NUMBA_BOUNDSCHECK=1`, {seconds + 60:g} s with compilation): {checked}.
""",
        not findings and checked_fine,
    )


def _bounds_checked(seconds):
    with tempfile.TemporaryDirectory() as cache:  # a filled cache ignores the setting
        environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-m", "tests.fuzz", "--seconds", str(seconds + 60)]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    counts = re.findall(
        r"^\S+ +fine +([\d,]+) refused +([\d,]+) wrong +([\d,]+)$", done.stdout, re.M
    )
    if len(counts) != len(fuzz.CASES):
        return f"the run ended with status {done.returncode}: {done.stderr[-2000:]}", False
    numbers = [sum(int(n.replace(",", "")) for n in column) for column in zip(*counts, strict=True)]
    fine, refused, wrong = numbers
    found = f"{fine:,} fine, {refused:,} refused, {wrong:,} wrong"
    return found, done.returncode == 0 and wrong == 0


def _accuracy_table(errors):
    rows = [
        [name, errors.cases[name], f"{errors.relative[name]:.1e}", f"{errors.share[name]:.1e}"]
        for name in sorted(errors.share)
    ]
    return table(["value", "cases", "relative error", "share of what is promised"], rows)


def accuracies():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # fitted scales below zero
        small = accuracy.compare_with_exact(few=False)
        many = accuracy.compare_with_long_double()
    found = {name: ulps.worst(name, 2_000_000) for name in ulps.FUNCTIONS}
    rows = [
        [f"`{name}`", f"{n:,}", f"{error:.2f}", f"{where!r}"]
        for name, (error, where, n) in found.items()
    ]
    fine = not small.failures() and not many.failures()
    fine &= all(error <= ulps.PROMISED for error, _, _ in found.values())
    return (
        f"""## Accuracy

Promised is a relative error of {accuracy.RELATIVE:g}, or an absolute one of {accuracy.ABSOLUTE:g}:
the last column is the worst error over that. Errors of values below 0.01 are given as a relative
error that is as large a share.

{accuracy.N} samples, 2, 3 and 7 classes, scores plain, tied, extreme and infinite, weights of all
magnitudes, with and without priors, against rational and 50-digit arithmetic:

{_accuracy_table(small)}

A million samples, weighted and not, against long double and exact sums; fits of 200,000 samples by
sums on an axis against fits to the samples in long double:

{_accuracy_table(many)}

The vectorized functions over their whole range, in units in the last place, against long double:

{table(["function", "inputs", "worst error, ulp", "at"], rows)}
""",
        fine,
    )


def determinism():
    expected, rows, fine = None, [], True
    before = os.environ.get("FASTPSR_NUM_THREADS")
    for threads in THREADS:
        os.environ["FASTPSR_NUM_THREADS"] = threads
        for run in range(RUNS):
            found = everything.digests_of(everything.everything())
            expected = found if expected is None else expected
            differing = sum(found[name] != expected[name] for name in expected)
            fine &= not differing
            rows.append([threads, run + 1, len(found), differing])
    os.environ.pop("FASTPSR_NUM_THREADS")
    if before is not None:
        os.environ["FASTPSR_NUM_THREADS"] = before
    return (
        f"""## Determinism

Every metric, calibrator, curve and bootstrap of {everything.MANY:,} samples, intervals of
{everything.FEWER:,}: results whose bits differ from those of the first run.

{table(["threads", "run", "results", "differing"], rows)}
""",
        fine,
    )


def concurrency():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.xml"
        tests = ["tests/test_concurrency.py", "tests/test_blocks.py"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", f"--junitxml={path}", *tests],
            cwd=ROOT, capture_output=True,
        )  # fmt: skip
        cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    outcomes = {}
    for case in cases:
        name = case.attrib["name"].split("[")[0].removeprefix("test_").replace("_", " ")
        kinds = {child.tag for child in case}
        outcome = "skipped" if "skipped" in kinds else "failed" if kinds & {"failure", "error"} else "passed"  # fmt: skip # noqa: E501
        outcomes.setdefault(name, []).append(outcome)
    rows = []
    for name, found in outcomes.items():
        rows.append([name, *(found.count(kind) for kind in ("passed", "failed", "skipped"))])
    return (
        f"""## Threads, processes and caches

{table(["what", "passed", "failed", "skipped"], rows)}
""",
        done.returncode == 0,
    )


def report(seconds):
    command = "python -m tests.stress --markdown docs/stress.md"
    if seconds != 60.0:
        command += f" --seconds {seconds:g}"
    parts = [fuzzing(seconds), accuracies(), determinism(), concurrency()]
    text = f"""# Stress report

Made by `{command}`; nothing here is typed by hand.

fastpsr {fp.__version__}, Python {platform.python_version()}, NumPy {np.__version__},
Numba {numba.__version__}, SciPy {scipy.__version__}, {platform.machine()} with {os.cpu_count()}
processors.

"""
    return text + "\n".join(part for part, _ in parts), all(fine for _, fine in parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markdown", type=Path, help="where to write; by default to stdout")
    parser.add_argument("--seconds", type=float, default=60.0, help="of fuzzing")
    arguments = parser.parse_args()
    text, fine = report(arguments.seconds)
    if arguments.markdown is None:
        print(text)
    else:
        arguments.markdown.write_text(text, "utf-8")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
