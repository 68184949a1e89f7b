"""The model card of a run: README.md with the front matter that the Hugging Face Hub reads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from drrn.playing.policies import POLICIES
from drrn.settings import all_settings
from drrn.runs.metrics import Metrics, metrics_of
from drrn.runs.reference_scores import ReferenceScores
from drrn.writing import counted, visible

ACTIVE = re.compile(r"([\\`*_{}\[\]<>#|~$])")  # what Markdown would make something of


def model_card(config: Mapping[str, Any], rows: Sequence[dict[str, str]], scores: ReferenceScores | None) -> str:
    """The card: what was learned, how well it plays, with which settings, how to load it."""
    settings = config["settings"]
    game = config["game"]
    rounds = list(metrics_of(rows, settings["episodes_per_round"]))
    last = rounds[-1] if rounds else None
    title = _plain(game["title"])
    model = settings["model"]
    parts = [
        _front_matter(game, model, last),
        f"# {title}, learned by {_plain(model)}",
        f"{counted(settings['replicas'], 'replica')} ({_seeds(settings['seed'], settings['replicas'])}) "
        f"of the model `{model}` learned the text game {title}, with the recipe `{config.get('recipe', 'by hand')}` "
        f"of drrn.",
        _scores(last, scores),
        f"## The game\n\nSource: {_code(_name_of(game['source']))}. SHA-256: `{game['sha256']}`; a game that has "
        "another is another version, on which these scores do not hold. The game itself is not part of this folder.",
        USE,
        _settings(settings),
        _versions(config.get("versions") or {}),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _seeds(first: int, count: int) -> str:
    return f"seed {first}" if count == 1 else f"seeds {first} to {first + count - 1}"


USE = """## How to load it

```python
import drrn

agent = drrn.load("RUN")  # this folder, or what `drrn pull` made of it
agent.act("The text of a page.", ["an action", "another"])
```

    drrn watch RUN
    drrn play GAME --agent RUN

Weights are in `model.safetensors`, words in `vocabulary.json`, settings in `config.json`, one row for each replica and
round in `evaluations.csv`; `hashes.json` vouches for each of them. No file of this folder is ever run."""


def _front_matter(game: Mapping[str, Any], model: str, last: Metrics | None) -> str:
    """YAML that says what kind of model it is, and its score where there is one."""
    lines = ["library_name: drrn", "pipeline_tag: reinforcement-learning", "tags:"]
    lines += [f"- {tag}" for tag in ("reinforcement-learning", "text-games", "interactive-fiction", "drrn")]
    if last is not None:
        title = _quoted(game["title"])
        score = f"{last['softmax_final_reward']:.2f}"
        lines += [
            "model-index:",
            f"- name: {_quoted(model)}",
            "  results:",
            "  - task:",
            "      type: reinforcement-learning",
            "      name: reinforcement-learning",
            "    dataset:",
            f"      name: {title}",
            f"      type: {_quoted(_name_of(game['source']))}",
            "    metrics:",
            "    - type: mean_reward",
            "      name: mean final reward, policy softmax",
            f"      value: {score} +/- {last['softmax_final_reward_sd']:.2f}",
        ]
    return "\n".join(["---", *lines, "---"])


def _scores(last: Metrics | None, scores: ReferenceScores | None) -> str:
    """A table of the last round's scores, with what they are to be compared with."""
    if last is None:
        return ""
    lines = ["| policy | mean final reward | sd over replicas | mean return |", "| --- | --: | --: | --: |"]
    for policy in POLICIES:
        if (reward := last.get(f"{policy}_final_reward")) is not None:
            deviation = last[f"{policy}_final_reward_sd"]
            total = last[f"{policy}_return"]
            lines.append(f"| {policy} | {reward:.2f} | {deviation:.2f} | {total:.2f} |")
    known = [(name, value) for name, value in _references(scores) if value is not None]
    lines += [f"| {name} | {value:.2f} | | |" for name, value in known]
    head = f"## Scores\n\nAfter round {last['round']} ({last['episodes_played']} episodes played by each replica):"
    return f"{head}\n\n" + "\n".join(lines)


def _references(scores: ReferenceScores | None) -> list[tuple[str, float | None]]:
    return [("random play", scores.random), ("best possible", scores.best)] if scores else []


def _settings(settings: Mapping[str, Any]) -> str:
    """Those that are not what they would be if nothing were said; config.json has all of them."""
    usual = {name: setting.default for name, setting in all_settings().items()}
    told = [f"| `{name}` | {_code(value)} |" for name, value in settings.items() if usual.get(name) != value]
    head = "## Settings\n\nWhere they differ from the paper's; `config.json` has all of them."
    return "\n".join([head, "", "| setting | value |", "| --- | --- |", *told]) if told else ""


def _versions(versions: Mapping[str, str]) -> str:
    told = ", ".join(f"{_plain(str(name))} {_plain(str(version))}" for name, version in versions.items())
    return f"Made with {told}." if told else ""


def _name_of(source: str | None) -> str:
    """How the game is named, without the folder that it lay in."""
    return Path(source).name if source else "an object, which no name opens"


def _quoted(text: str) -> str:
    """A string of YAML: JSON's strings are."""
    return json.dumps(visible(text), ensure_ascii=False)


def _code(value: object) -> str:
    shown = Path(value).name if isinstance(value, str) and "/" in value else value
    return "`" + visible(str(shown)).replace("`", "'").replace("|", "¦").replace("\n", " ") + "`"


def _plain(text: str) -> str:
    return ACTIVE.sub(r"\\\1", " ".join(visible(text).split()))
