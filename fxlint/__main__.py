"""``python -m fxlint`` is the same as ``fxlint``: what the working directory holds does not stand for other modules."""

import os
import sys

if sys.path[:1] == [os.getcwd()]:  # noqa: PTH109
    del sys.path[0]

from fxlint.entry import main

if __name__ == "__main__":
    main()
