"""What the scripts in this folder share: options, and writing what they found."""

import argparse
import json
from pathlib import Path

from matplotlib.figure import Figure


def parser(doc: str, *, seeds: int = 0, data: bool = False) -> argparse.ArgumentParser:
    """Return a parser of the options that scripts share; with `seeds` or `data`, of these too."""
    made = argparse.ArgumentParser(description=doc.splitlines()[0])
    made.add_argument("--out", type=Path, help="folder to write the figure to")
    made.add_argument("--format", choices=["svg", "png", "pdf"], default="svg", help="of it")
    made.add_argument("--json", type=Path, help="write the numbers to this file")
    if data:
        made.add_argument("--data", type=Path, required=True, help="folder of the systems' folders")
    if seeds:
        made.add_argument("--seeds", type=int, default=seeds, help="number of simulations")
    return made


def write(options: argparse.Namespace, name: str, numbers: object, figure: Figure) -> None:
    """Write the figure and the numbers where the options say."""
    if options.json:
        options.json.write_text(json.dumps(numbers, indent=1) + "\n")
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        figure.savefig(options.out / f"{name}.{options.format}", dpi=150)
