"""All figures and tables of Ferrer and Ramos (2024) in one go.

    python docs/paper/run_all.py --out DIR [--data DIR] [--only NAME ...] [--format svg|png|pdf]

Each script leaves in --out its figure, what it printed (.txt) and its numbers (.json). --data is
the folder of the published scores, which table2 and table3 need. Exits with 1 if a script fails.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
NAMES = [f"figure{n}" for n in range(1, 5)] + ["appendix_e"]
NAMES += [f"table{n}" for n in range(1, 4)]
NEED_DATA = ("table2", "table3")


def run(name: str, options: argparse.Namespace) -> str:
    """Run a script, and say what became of it."""
    given = [] if name not in NEED_DATA else ["--data", str(options.data)]
    if given and options.data is None:
        return "skipped: needs --data"
    files = ["--out", str(options.out), "--format", options.format]
    numbers = ["--json", str(options.out / f"{name}.json")]
    command = [sys.executable, str(HERE / f"{name}.py"), *given, *files, *numbers]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (options.out / f"{name}.txt").write_text(done.stdout + done.stderr)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return f"failed, exit code {done.returncode}: {said}"
    return f"done in {time.perf_counter() - start:.1f} s"


def tracked(names: list[str]) -> Iterator[str]:
    """Yield names, and show how far it is: as a bar with rich, else in lines."""
    try:
        from rich.progress import Progress
    except ModuleNotFoundError:
        for place, name in enumerate(names, 1):
            print(f"{place}/{len(names)} {name}", file=sys.stderr)
            yield name
        return
    from rich.console import Console

    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=len(names))
        for name in names:
            progress.update(task, description=name)
            yield name
            progress.advance(task)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--data", type=Path, help="folder of the published scores")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, help="by default all")
    parser.add_argument("--format", choices=["svg", "png", "pdf"], default="svg")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    outcomes = {name: run(name, options) for name in tracked(options.only)}
    for name, outcome in outcomes.items():
        print(f"{name:<11}{outcome}")
    print(f"figures, printed text and numbers are in {options.out}")
    sys.exit(any(outcome.startswith("failed") for outcome in outcomes.values()))


if __name__ == "__main__":
    main()
