"""Largest deviation of each column between two files that table2.py wrote with --json.

python docs/paper/deviations.py FILE REFERENCE
"""

import argparse
import json
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("reference", type=Path)
    options = parser.parse_args()
    rows, reference = (json.loads(p.read_text()) for p in (options.file, options.reference))
    print(f"{'column':<8}{'deviation':>10}{'here':>10}{'reference':>11}  rows  largest in")
    for column in next(iter(rows.values())):
        pairs = [
            (row[column], reference[name][column], name)
            for name, row in rows.items()
            if column in row and column in reference.get(name, {})
        ]
        if pairs:
            here, there, name = max(pairs, key=lambda pair: abs(pair[0] - pair[1]))
            figures = f"{here - there:>+10.5f}{here:>10.5f}{there:>11.5f}{len(pairs):>6}"
            print(f"{column:<8}{figures}  {name}")
    for name in sorted(rows.keys() ^ reference.keys()):
        print(f"not compared, in one only: {name}")


if __name__ == "__main__":
    main()
