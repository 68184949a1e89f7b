"""`drrn` and `python -m drrn`: the command line. Ctrl-C exits quietly, also during imports."""

import sys


def start() -> int:
    """Run the command and return its exit code."""
    try:
        from drrn.cli import main

        return main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(start())
