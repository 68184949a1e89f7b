"""The model card of a run: README.md, with the front matter that the Hugging Face Hub reads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from drrn.pages import rendered
from drrn.runs.scores import ReferenceScores, RoundScores
from drrn.settings import POLICIES, all_settings
from drrn.writing import counted, visible

MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$])")  # characters that Markdown interprets


def model_card(
    config: Mapping[str, Any], rounds: Sequence[RoundScores], scores: ReferenceScores | None
) -> str:
    """Return the card: what was learned, the scores, the settings, and how to load the agent."""
    settings = config["settings"]
    defaults = {name: setting.default for name, setting in all_settings().items()}
    first = settings["seed"]
    last = first + settings["replicas"] - 1
    seeds = f"seed {first}" if first == last else f"seeds {first} to {last}"
    source = config["game"]["source"]
    return rendered(
        "model_card.md",
        game=config["game"],
        source=Path(source).name if source else "a Python object without a name",
        settings=settings,
        changes={n: value for n, value in settings.items() if defaults.get(n) != value},
        replicas=f"{counted(settings['replicas'], 'replica')} ({seeds})",
        recipe=config.get("recipe"),
        versions=config.get("versions") or {},
        policies=POLICIES,
        last=rounds[-1] if rounds else None,
        mean=lambda column: f"{rounds[-1].mean(column):.2f}",
        sd=lambda column: f"{rounds[-1].sd(column):.2f}",
        reference={"random play": scores.random, "best possible": scores.best} if scores else {},
        **{"quote": _quote, "code": _code, "escape": _escape},
    )


def _quote(text: str) -> str:
    """Return a YAML string; JSON strings are valid YAML."""
    return json.dumps(visible(text), ensure_ascii=False)


def _code(value: object) -> str:
    text = Path(value).name if isinstance(value, str) and "/" in value else str(value)
    return "`" + visible(text).replace("`", "'").replace("|", "¦").replace("\n", " ") + "`"


def _escape(text: object) -> str:
    return MARKDOWN.sub(r"\\\1", " ".join(visible(str(text)).split()))
