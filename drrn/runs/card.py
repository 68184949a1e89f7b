"""The model card of a run: README.md, with the front matter that the Hugging Face Hub reads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from drrn.runs.scores import ReferenceScores, RoundScores
from drrn.settings import POLICIES, all_settings
from drrn.writing import counted, visible

MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$])")  # characters that Markdown interprets
TAGS = ("reinforcement-learning", "text-games", "interactive-fiction", "drrn")
USE = """## How to use it

```python
import drrn

agent = drrn.load("RUN")  # this folder, or what `drrn pull` downloaded
agent.act("The text of a page.", ["an action", "another"])
```

    drrn watch RUN
    drrn play GAME --agent RUN

Weights are in `model.safetensors`, words in `vocabulary.json`, settings in `config.json`, and one
row for each replica and round in `evaluations.csv`. `hashes.json` has the SHA-256 of each file. No
file of this folder is executed."""


def model_card(
    config: Mapping[str, Any], rounds: Sequence[RoundScores], scores: ReferenceScores | None
) -> str:
    """Return the card: what was learned, the scores, the settings, and how to load the agent."""
    settings = config["settings"]
    game = config["game"]
    last = rounds[-1] if rounds else None
    title = _escape(game["title"])
    model = settings["model"]
    replicas = settings["replicas"]
    first = settings["seed"]
    seeds = f"seed {first}" if replicas == 1 else f"seeds {first} to {first + replicas - 1}"
    recipe = config.get("recipe")
    by = f"the recipe `{recipe}` of drrn" if recipe else "drrn"
    parts = [
        _front_matter(game, model, last),
        f"# {title}, learned by {_escape(model)}",
        f"A reinforcement learning agent for the text game {title}: {counted(replicas, 'replica')} "
        f"({seeds}) of the model `{model}`, trained with {by}.",
        _scores(last, scores),
        f"## The game\n\nSource: {_code(_file_name(game['source']))}. SHA-256: `{game['sha256']}`. "
        "The scores do not apply to a version of the game with another hash. The game is not "
        "included.",
        USE,
        _settings(settings),
        _versions(config.get("versions") or {}),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _front_matter(game: Mapping[str, Any], model: str, last: RoundScores | None) -> str:
    """Return YAML: the kind of model, and its score if a round is finished."""
    lines = ["library_name: drrn", "pipeline_tag: reinforcement-learning", "tags:"]
    lines += [f"- {tag}" for tag in TAGS]
    if last is not None:
        mean = last.mean("softmax_final_reward")
        sd = last.sd("softmax_final_reward")
        lines += [
            "model-index:",
            f"- name: {_quote(model)}",
            "  results:",
            "  - task:",
            "      type: reinforcement-learning",
            "      name: reinforcement-learning",
            "    dataset:",
            f"      name: {_quote(game['title'])}",
            f"      type: {_quote(_file_name(game['source']))}",
            "    metrics:",
            "    - type: mean_reward",
            "      name: mean final reward, policy softmax",
            f"      value: {mean:.2f} +/- {sd:.2f}",
        ]
    return "\n".join(["---", *lines, "---"])


def _scores(last: RoundScores | None, reference: ReferenceScores | None) -> str:
    """Return a table of the last round's scores and the reference scores."""
    if last is None:
        return ""
    lines = [
        f"## Scores\n\nAfter round {last.number} ({last.episodes_played} episodes played by each "
        "replica):\n",
        "| policy | mean final reward | sd over replicas | mean return |",
        "| --- | --: | --: | --: |",
    ]
    for policy in POLICIES:
        reward = f"{policy}_final_reward"
        total = last.mean(f"{policy}_return")
        lines.append(
            f"| {policy} | {last.mean(reward):.2f} | {last.sd(reward):.2f} | {total:.2f} |"
        )
    if reference:
        for name, value in (("random play", reference.random), ("best possible", reference.best)):
            if value is not None:
                lines.append(f"| {name} | {value:.2f} | | |")
    return "\n".join(lines)


def _settings(settings: Mapping[str, Any]) -> str:
    """Return a table of the settings that differ from the defaults."""
    defaults = {name: setting.default for name, setting in all_settings().items()}
    rows = [
        f"| `{name}` | {_code(value)} |"
        for name, value in settings.items()
        if defaults.get(name) != value
    ]
    if not rows:
        return ""
    head = "## Settings\n\nWhere they differ from the paper's; `config.json` has all of them."
    return "\n".join([head, "", "| setting | value |", "| --- | --- |", *rows])


def _versions(versions: Mapping[str, str]) -> str:
    parts = [f"{_escape(str(name))} {_escape(str(version))}" for name, version in versions.items()]
    return f"Made with {', '.join(parts)}." if parts else ""


def _file_name(source: str | None) -> str:
    """Return the name of a game's file without its folder."""
    return Path(source).name if source else "a Python object without a name"


def _quote(text: str) -> str:
    """Return a YAML string; JSON strings are valid YAML."""
    return json.dumps(visible(text), ensure_ascii=False)


def _code(value: object) -> str:
    text = Path(value).name if isinstance(value, str) and "/" in value else str(value)
    return "`" + visible(text).replace("`", "'").replace("|", "¦").replace("\n", " ") + "`"


def _escape(text: str) -> str:
    return MARKDOWN.sub(r"\\\1", " ".join(visible(text).split()))
