"""The command as a module: `python -m fastpsr`."""

from fastpsr.cli import main

if __name__ == "__main__":
    main()
