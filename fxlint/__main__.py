"""``python -m fxlint`` is the same as ``fxlint``."""

from fxlint.cli import main

if __name__ == "__main__":
    main()
