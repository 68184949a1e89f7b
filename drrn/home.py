"""Where this program keeps what outlives a run: scores, compiled games, games that were added."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """The folder DRRN_HOME names, or ~/.drrn."""
    return Path(os.environ.get("DRRN_HOME") or Path.home() / ".drrn")
