"""Put bugs into the package, and see which of them the quick tests find.

``python -m tools.mutants`` puts the bugs of mutants.toml into a copy of the project one by one, and
runs the quick tests until one fails: first those that execute the line of the bug, as a run under
coverage has recorded, then the golden values and the contracts, then all others. Results are kept
in ``build/mutants.jsonl``, so that a run that is interrupted continues; delete it to begin anew.
"""

import argparse
import functools
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "fastpsr"
RESULTS = ROOT / "build" / "mutants.jsonl"
RECORD = ROOT / "build" / "mutants.coverage"
LONGEST = 3600  # seconds of a run: a bug may loop for ever
_NO_END, _NO_START = "no end", "no start: the tests cannot be collected"
_FEW_TESTS = 20  # which one process runs sooner than several are started
PLAUSIBLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@dataclass(frozen=True)
class Mutant:
    """A bug: what is put in place of what in a module of the package, which starts at `place`."""

    module: str
    kind: str
    seen: str
    old: str
    new: str
    place: int

    def text(self):
        """Return the module with the bug."""
        source = (PACKAGE / self.module).read_text("utf-8")
        return source[: self.place] + self.new + source[self.place + len(self.old) :]

    @property
    def key(self):
        """What identifies it among results: the change in the module as it is."""
        digest = hashlib.sha256(f"{self.place} {self.new} {self.text()}".encode()).hexdigest()
        return f"{self.module} {digest[:12]}"


def plausible():
    """Return the mutants of mutants.toml; raise unless the old text is in the module once."""
    mutants = []
    for entry in PLAUSIBLE["mutant"]:
        source = (PACKAGE / entry["module"]).read_text("utf-8")
        if source.count(entry["old"]) != 1:
            raise ValueError(f"{entry['module']}: the old text of mutants.toml must be there once")
        mutants.append(Mutant(**entry, place=source.index(entry["old"])))
    return mutants


# The copy, and the tests


class Copy:
    """A copy of the project with its compiled kernels."""

    def __init__(self):
        self.root = Path(tempfile.gettempdir()) / "fastpsr-mutants" / "copy"
        self.compiled = self.root.with_suffix(".compiled")
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.rmtree(self.compiled, ignore_errors=True)
        unwanted = (".venv", ".git", ".*cache", ".hypothesis", "*.egg-info", "build")
        shutil.copytree(ROOT, self.root, ignore=shutil.ignore_patterns(*unwanted))
        self._run([sys.executable, "-m", "fastpsr", "warmup"])
        shutil.copytree(self.root / "fastpsr" / "kernels" / "__pycache__", self.compiled)

    def record(self, number, n_runs, path):
        """Run one of `n_runs` shares of the tests under coverage, with a context for each test."""
        settings = self.root / f"coverage{number}.ini"
        settings.write_text("[run]\ndynamic_context = test_function\nsource = fastpsr\n", "utf-8")
        files = sorted(
            path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/**/test_*.py")
        )
        command = ["coverage", "run", f"--rcfile={settings}", f"--data-file={path}", "-m", "pytest"]
        options = ["-q", "-p", "no:cacheprovider"]
        self._run([sys.executable, "-m", *command, *options, *files[number::n_runs]])

    def first_failure(self, mutant):
        """Return the test that finds a bug, None if all pass; raise if it fails without the bug.

        Tests that execute the line come first, then the golden values and the contracts, then all.
        """
        executing = _executing_tests(mutant)
        likely = [f"fastpsr/{mutant.module}", "tests/test_golden.py", "tests/contract"]
        rounds = [executing, likely, []] if executing else [likely, []]
        self._put(mutant)
        try:
            failures = (self._failure(tests) for tests in rounds)
            test = next(filter(None, failures), None)
        finally:
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.rmtree(self.root / "fastpsr")
            shutil.copytree(PACKAGE, self.root / "fastpsr", ignore=ignore)
            shutil.copytree(self.compiled, self.root / "fastpsr" / "kernels" / "__pycache__")
        again = ["--collect-only"] if test == _NO_START else [test]
        if test and test != _NO_END and self._failure(again):
            raise RuntimeError(f"{test} fails without the bug in {mutant.module}")
        return test

    def _put(self, mutant):
        path = self.root / "fastpsr" / mutant.module
        path.write_text(mutant.text(), "utf-8")
        if mutant.module.startswith("kernels/"):  # the cache is valid for one text of all kernels
            self._run([sys.executable, "-m", "fastpsr", "warmup"])  # of which some may not compile

    def _failure(self, arguments):
        options = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", "--timeout=300"]
        few = 0 < len(arguments) <= _FEW_TESTS
        options += ["--timeout-method=thread", "-n", "0" if few else "auto"]
        code, output = self._run([sys.executable, "-m", "pytest", *options, *arguments])
        if code == 0:
            return None
        failed = re.search(r"^(?:FAILED|ERROR) (\S+?(?:\[.*?\])?)(?: - .*)?$", output, re.M)
        if failed:
            return failed[1]
        if code is None or "+ Timeout +" in output:
            return _NO_END
        return _NO_START

    def _run(self, command):
        environment = {**os.environ, "PYTHONPATH": str(self.root), "PYTEST_ADDOPTS": ""}
        for name in ("NUMBA_CACHE_DIR", "PYTHONDONTWRITEBYTECODE"):
            environment.pop(name, None)
        process = subprocess.Popen(
            command, cwd=self.root, env=environment, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            output, _ = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, process.communicate()[0]
        return process.returncode, output


@functools.cache
def _recorded(path=RECORD):
    """Return the tests that execute each line of each module, by path and number of the line."""
    from coverage import CoverageData

    tests = {}
    for part in path.parent.glob(f"{path.name}*"):
        data = CoverageData(part)
        data.read()
        for file in data.measured_files():
            module = file.partition("/fastpsr/")[2]
            for line, contexts in data.contexts_by_lineno(file).items():
                tests.setdefault((module, line), set()).update(filter(None, contexts))
    return tests


def _executing_tests(mutant):
    """Return the tests that execute lines of a bug, as far as they are Python."""
    source = (PACKAGE / mutant.module).read_text("utf-8")
    first = source.count("\n", 0, mutant.place) + 1
    lines = range(first, first + mutant.old.count("\n") + 1)
    names = set().union(*(_recorded().get((mutant.module, line), ()) for line in lines))
    pairs = [name.rpartition(".")[::2] for name in sorted(names)]
    tests = [(f"{module.replace('.', '/')}.py", function) for module, function in pairs]
    return [f"{path}::{function}" for path, function in tests if (ROOT / path).exists()]


# Results


def results():
    """Return what is known of mutants by their keys."""
    lines = RESULTS.read_text("utf-8").splitlines() if RESULTS.exists() else []
    return {entry["key"]: entry["test"] for entry in map(json.loads, lines)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", metavar="MODULE", help="may be repeated")
    parser.add_argument("--record", action="store_true", help="record which tests execute lines")
    parser.add_argument("--list", action="store_true", help="print the mutants, run none")
    options = parser.parse_args()
    chosen = [each for each in plausible() if each.module in (options.only or [each.module])]
    todo = [each for each in chosen if each.key not in results()]
    if options.record:
        record()
    elif todo and not options.list:
        run(todo)
    known = results()
    for mutant in chosen:
        test = known.get(mutant.key, "not run") or "NOT FOUND"
        print(f"{mutant.module} | {mutant.kind} | {mutant.seen} | {test}")


def record():
    """Record which tests execute which lines."""
    copy, n_runs = Copy(), os.cpu_count() or 1
    with ThreadPoolExecutor(n_runs) as pool:
        list(pool.map(lambda k: copy.record(k, n_runs, f"{RECORD}.{k}"), range(n_runs)))


def run(todo):
    """Run mutants, and append the results to the file."""
    RESULTS.parent.mkdir(exist_ok=True)
    if not list(RECORD.parent.glob(f"{RECORD.name}*")):
        record()
    copy = Copy()
    for mutant in todo:
        test = copy.first_failure(mutant)
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": mutant.key, **asdict(mutant), "test": test}) + "\n")
        print(f"{mutant.module}, {mutant.kind}, {mutant.seen}: {test or 'NOT FOUND'}", flush=True)


if __name__ == "__main__":
    main()
