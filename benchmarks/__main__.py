"""Run the report."""

from benchmarks.compare import main

main()
