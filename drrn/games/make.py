"""`make`: from a name or a path to a game."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from drrn.errors import InputError, did_you_mean
from drrn.games.authors import place
from drrn.games.stories.dialects import read_script
from drrn.games.stories.paraphrases import read_paraphrases
from drrn.games.stories.reading import HTML, TWEE, read_story
from drrn.games.stories.rules import Rules, check_rules, read_rules
from drrn.games.stories.story_game import StoryGame

BUILT_IN = ("long-watch", "night-market")  # the first is the default


def make(
    name_or_path: str | Path,
    *,
    shuffle: bool = True,
    paraphrased: bool = False,
    lenient: bool = False,
    encoding: str | None = None,
) -> StoryGame:
    """Open a game by name (built in, or added), or a Twee file, a published Twine page, or the TOML beside a story.

    `shuffle` shows the actions in a new order each time; `paraphrased` shows them in other words, where the game has
    them; `lenient` plays on without what is not supported; `encoding` is the story file's, if it is not UTF-8.
    """
    path = _path(name_or_path)
    toml = path if path.suffix.lower() == ".toml" else _toml_beside(path)
    rules = read_rules(toml) if toml else Rules()
    story = read_story(rules.story or path, encoding)
    script = read_script(story, dict(rules.inputs), lenient=lenient)
    if toml:
        check_rules(rules, script, toml)
    if paraphrased and rules.paraphrases is None:
        raise InputError(
            f'{toml or path}: it has no paraphrases: name a TSV of them with paraphrases = "…" in the TOML'
        )
    return StoryGame(
        path.stem,
        script,
        rules,
        shuffle=shuffle,
        paraphrases=read_paraphrases(rules.paraphrases) if paraphrased and rules.paraphrases else None,
    )


def lasting_name(name: str) -> str:
    """What `make` opens by this name, from whatever folder: a path is kept whole."""
    return name if name in (*BUILT_IN, *place.NAMES) else str(Path(name).resolve())


def _path(name_or_path: str | Path) -> Path:
    """The file behind a name or path, or a sentence that says what would have been one."""
    name = str(name_or_path)
    if name in BUILT_IN:
        return Path(str(resources.files("drrn.games.stories") / "built_in" / f"{name}.toml"))
    if name in place.NAMES:
        return place.toml_of(name)
    path = Path(name)
    try:
        if path.is_file():
            return path
        if name and path.is_dir():
            raise InputError(f"{name}: a folder; name the story in it")
    except (OSError, ValueError) as error:
        raise InputError(f"{name[:60]}: no such file or game") from error
    if path.suffix.lower() in (*TWEE, *HTML, ".toml") or "/" in name:
        beside = [str(other) for other in path.parent.glob("*") if other.is_file()] if path.parent.is_dir() else []
        raise InputError(f"{name}: no such file.{did_you_mean(name, beside)}")
    near = did_you_mean(name, (*BUILT_IN, *place.NAMES))
    raise InputError(
        f'no game is named "{name}".{near} Built in: {", ".join(BUILT_IN)}; of the paper: {", ".join(place.NAMES)}; '
        "or give the path of a story"
    )


def _toml_beside(path: Path) -> Path | None:
    """`story.toml` beside `story.twee`, if it speaks of this story."""
    toml = path.with_suffix(".toml")
    if not toml.is_file():
        return None
    rules = read_rules(toml)
    return toml if rules.story and rules.story.resolve() == path.resolve() else None
