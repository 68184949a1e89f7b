"""Where results come from: the commit and the versions that made them."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import numpy as np

from drrn.version import __version__

PACKAGE = Path(__file__).parents[2]


def commit() -> str:
    """The commit of this package's code, "-dirty" where the code was changed since; "unknown" outside a repository."""
    if (
        _git("ls-files", "--error-unmatch", "__init__.py") is None
    ):  # the repository may be someone else's
        return "unknown"
    head = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".")
    return "unknown" if head is None else f"{head}-dirty" if changed else head


def versions() -> dict[str, str]:
    import torch

    return {
        "drrn": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": torch.__version__,
    }


def _git(*arguments: str) -> str | None:
    """What Git answers about the package's folder; None where it cannot."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=PACKAGE, capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
