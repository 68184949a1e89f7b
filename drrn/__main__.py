"""`python -m drrn`: the command line."""

import sys

from drrn.cli import main

if __name__ == "__main__":
    sys.exit(main())
