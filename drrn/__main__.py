"""`drrn` and `python -m drrn`: the command line; Ctrl-C ends it quietly, also while its parts are being loaded."""

import sys


def start() -> int:
    try:
        from drrn.cli import main

        return main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(start())
