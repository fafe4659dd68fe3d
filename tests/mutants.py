"""The mutation check: which tests find plausible bugs, those of mutants.toml.

One after another the bugs are put into a copy of the project, and the tests that should see one are
run until the first fails: ``python -m tests.mutants --markdown docs/mutants.md``.
"""

import argparse
import ast
import hashlib
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
QUICK = "not slow"
#: The copy, and what Numba compiles for it, which stay for the next time.
FOLDER = Path(tempfile.gettempdir()) / "fastpsr-mutants"
_COPY, _CACHE = FOLDER / "project", FOLDER / "numba"
_KERNELS = Path("fastpsr", "kernels")
_PASSED = 0  # as pytest returns it
_LONGEST = 3600  # seconds of a run


@dataclass(frozen=True)
class Mutant:
    """A bug: what is put in place of what in a module, and which files of tests should see it."""

    module: str
    kind: str
    seen: str
    old: str
    new: str
    tests: list[str]

    @property
    def path(self):
        """The module in the project."""
        return Path("fastpsr", self.module)

    def check(self):
        """Raise unless the old text is in the module once, and the files of tests are there."""
        n = (ROOT / self.path).read_text("utf-8").count(self.old)
        if n != 1 or self.old == self.new:
            raise ValueError(f"{self.module}: the old text must be there once, not {n} times")
        for name in self.tests:
            if not (ROOT / "tests" / name).is_file():
                raise ValueError(f"{self.module}: there is no tests/{name}")

    @property
    def module_with_bug(self):
        """The text of the module with the bug."""
        return (ROOT / self.path).read_text("utf-8").replace(self.old, self.new)


@dataclass(frozen=True)
class Finding:
    """The test that fails first with a bug, None if all pass, and the CPU seconds until then."""

    mutant: Mutant
    test: str | None
    seconds: float


def mutants():
    """Return the mutants, checked."""
    content = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text("utf-8"))
    found = [Mutant(**each) for each in content["mutant"]]
    for each in found:
        each.check()
    if len({each.module for each in found}) < len(found):
        raise ValueError("each mutant must be in a module of its own")
    return found


def prepare():
    """Copy the project, and compile its kernels where they have changed since the last time."""
    unwanted = shutil.ignore_patterns(".*cache", "__pycache__", ".git", ".hypothesis", "*.egg-info")
    shutil.rmtree(_COPY, ignore_errors=True)
    shutil.copytree(ROOT, _COPY, ignore=unwanted)
    for kernel in (_COPY / _KERNELS).iterdir():  # Numba looks at sizes and times
        os.utime(kernel, (1e9, 1e9))
    if not _filled().exists():
        shutil.rmtree(FOLDER / "filled", ignore_errors=True)
        print("compiling all kernels", flush=True)
        filling = _filled().with_suffix(".part")
        shutil.rmtree(filling, ignore_errors=True)
        command = [sys.executable, "-m", "fastpsr", "warmup"]
        subprocess.run(command, cwd=_COPY, env=_surroundings(filling), check=True)
        filling.rename(_filled())


def find(mutant, mark, whole):
    """Return who finds a bug."""
    before = _cpu_seconds()
    _put(mutant)
    try:
        files = [f"tests/{name}" for name in mutant.tests]
        test = _first_failure(["-m", mark, *files])
        if test is None and whole:
            others = [f"--ignore={name}" for name in files]
            test = _first_failure(["-m", mark, "-n", "auto", *others])
    finally:
        _restore(mutant)
    return Finding(mutant, test, _cpu_seconds() - before)


def quick_ones(findings, mark):
    """Return which of the tests that fail with bugs are quick; raise unless all pass without."""
    tests = list(dict.fromkeys(each.test for each in findings if each.test is not None))
    done = _pytest([*tests, "-m", mark]) if tests else None
    if done is not None and done.returncode != _PASSED:
        raise RuntimeError(f"tests that find bugs fail without these: {done.stdout[-4000:]}")
    listed = _pytest(["--collect-only", *tests, "-m", QUICK]).stdout if tests else ""
    return {*tests} & {*listed.splitlines()}


def page(findings, quick, mark):
    """Return the list of mutants, with who found them, as Markdown."""
    n_found = sum(each.test is not None for each in findings)
    n_quick = sum(each.test in quick for each in findings)
    options = "" if mark == QUICK else f" -m {mark!r}"
    more = "" if mark == QUICK else f", the slow ones {n_found - n_quick} more"
    lines = []
    for each in findings:
        found = "**none**" if each.test is None else f"`{each.test.removeprefix('tests/')}`"
        slow = " (slow)" if each.test and each.test not in quick else ""
        bug = each.mutant
        cells = [f"`{bug.module}`", bug.kind, bug.seen, found + slow, f"{each.seconds:.0f}"]
        lines.append(" | ".join(cell.replace("|", r"\|") for cell in cells))
    rows = "\n".join(f"| {line} |" for line in lines)
    return f"""# Mutants

Made by `python -m tests.mutants --markdown docs/mutants.md{options}`; nothing here is typed by
hand.

{len(findings)} plausible bugs, each in another module, are put into a copy of the project one by
one; [tests/mutants.toml](../tests/mutants.toml) has what is put in place of what. Tests that should
see a bug are run until one fails. The quick tests find {n_quick} of them{more}.

| module | bug | what a user would see | found by | CPU s |
| --- | --- | --- | --- | ---: |
{rows}
"""


def _put(mutant):
    """Put a bug into the copy; where it is in a kernel, only those that use it are compiled."""
    shutil.rmtree(_CACHE, ignore_errors=True)
    shutil.copytree(_filled(), _CACHE)
    (_COPY / mutant.path).write_text(mutant.module_with_bug, "utf-8")
    if mutant.path.parent == _KERNELS:
        # compiled code is valid for the sources of all kernels: here, of those that it is made of
        compiler = _COPY / _KERNELS / "compiler.py"
        text = compiler.read_text("utf-8")
        fixed = text.replace("_DIGEST = _sources_digest()", f'_DIGEST = "{_digest()}"')
        if fixed == text:
            raise ValueError("fastpsr/kernels/compiler.py has another digest: see tests/mutants.py")
        compiler.write_text(fixed, "utf-8")
        for user in _users(mutant.path.stem):
            for code in _CACHE.rglob(f"{user}.*.nbc"):
                code.unlink()


def _restore(mutant):
    is_kernel = mutant.path.parent == _KERNELS
    for path in (ROOT / _KERNELS).glob("*.py") if is_kernel else [ROOT / mutant.path]:
        copy = _COPY / path.relative_to(ROOT)
        shutil.copyfile(path, copy)
        os.utime(copy, (1e9, 1e9))


def _first_failure(arguments):
    """Return the test that fails first, None if all pass."""
    done = _pytest(["-x", "--timeout", "300", *arguments])
    if done.returncode == _PASSED:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+?(?:\[.*?\])?)(?: - .*)?$", done.stdout, re.M)
    if failed is None:
        said = done.stdout[-4000:] + done.stderr[-2000:]
        raise RuntimeError(f"pytest ended with {done.returncode}: {said}")
    return failed[1]


def _pytest(arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"]
    return subprocess.run(
        [*command, *arguments], cwd=_COPY, env=_surroundings(_CACHE), timeout=_LONGEST,
        capture_output=True, text=True,
    )  # fmt: skip


def _surroundings(numba_cache):
    of_copy = {"PYTHONPATH": str(_COPY), "NUMBA_CACHE_DIR": str(numba_cache)}
    return {**os.environ, **of_copy, "PYTEST_ADDOPTS": ""}


def _filled():
    """Return the folder of the compiled kernels as they are."""
    return FOLDER / "filled" / _digest()


@cache
def _digest():
    """Return what compiler.py says of the sources of kernels."""
    sources = sorted((ROOT / _KERNELS).glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def _users(kernel):
    """Return a file of kernels, and all that import it, directly or not."""
    imports = {path.stem: _imports(path) for path in (ROOT / _KERNELS).glob("*.py")}
    users = {kernel}
    while more := {name for name, own in imports.items() if own & users} - users:
        users |= more
    return users


def _imports(path):
    """Return the files of kernels that one imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            package, _, name = node.module.rpartition(".")
            found |= {name} if package == "fastpsr.kernels" else set()
            if node.module == "fastpsr.kernels":
                found |= {each.name for each in node.names}
    return found


def _cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", metavar="MODULE", help="may be repeated")
    parser.add_argument("-m", dest="mark", default=QUICK, help="which tests, as for pytest")
    parser.add_argument("--whole", action="store_true", help="all tests, where those find nothing")
    parser.add_argument("--markdown", type=Path, help="write the list")
    options = parser.parse_args()
    chosen = [each for each in mutants() if each.module in (options.only or [each.module])]
    if not chosen or (options.only and options.markdown):
        parser.error("--only must name modules of mutants.toml, and --markdown is of all")
    prepare()
    findings = []
    for number, mutant in enumerate(chosen, 1):
        found = find(mutant, options.mark, options.whole)
        findings.append(found)
        who = f"{found.test or 'NOT FOUND'}, {found.seconds:.0f} CPU s"
        print(f"{number}/{len(chosen)} {mutant.module}, {mutant.kind}: {who}", flush=True)
    quick = quick_ones(findings, options.mark)
    n_found = sum(each.test is not None for each in findings)
    print(f"found: {n_found} of {len(findings)}")
    if options.markdown:
        options.markdown.write_text(page(findings, quick, options.mark), "utf-8")


if __name__ == "__main__":
    main()
