"""An agent: a model with its lexicons, that can be asked, evaluated, saved and loaded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from drrn.errors import InputError
from drrn.exact.solve import Score, policy_score
from drrn.games import Compiled, StoryGame, compile_game, make
from drrn.models import Model, Shape, build_model
from drrn.playing.compiled_rollouts import CompiledField
from drrn.playing.evaluation import POLICIES, Evaluation, evaluate, policy_of
from drrn.playing.rollouts import Field, pages_of
from drrn.text import Lexicon
from drrn.training import tensor_file
from drrn.training.settings import Settings

Q = NDArray[np.float32]


class Agent:
    """Replicas of one model that were trained. Their Q-values are given together, [R, A]."""

    def __init__(self, model: Model, settings: Settings) -> None:
        self.model, self.settings = model, settings

    def ask(self, state: str, actions: Sequence[str]) -> Q:
        """Q of each action in a state, for each replica: [R, A]. Any text will do; unknown words count for nothing."""
        states, acts = self.model.states, self.model.actions
        states.grows = acts.grows = False
        page = (states.id(state), [acts.id(action) for action in actions])
        q = self.model.q(pages_of([[page]] * len(self.model.seeds)))
        found: Q = q[:, 0].cpu().numpy()
        return found

    def evaluate(
        self, game: StoryGame, *, policies: Sequence[str] = POLICIES, episodes: int = 1000, number: int = 0
    ) -> list[Evaluation]:
        """How each replica plays the game, by each policy."""
        field = Field(game, self.model)
        return evaluate(field, policies, self.settings.alpha, episodes, self.settings.seeds, number)

    def exact(self, game: StoryGame, policy: str = "softmax") -> tuple[Compiled, list[Score]]:
        """What each replica is expected to score, without the noise of sampling; the game must compile."""
        if self.model.sees_menu:
            raise InputError("this model's choice depends on the order of the actions: its score can only be sampled")
        field = CompiledField(compile_game(game), self.model)
        shares = field.probabilities(policy_of(policy, self.settings.alpha))
        return field.game, [policy_score(field.game, one, game.rules.max_steps) for one in shares]


def arrays_of(model: Model) -> dict[str, NDArray[Any]]:
    """Everything a model has learned, by name."""
    found: dict[str, NDArray[Any]] = {f"weight {name}": w.cpu().numpy() for name, w in model.weights.items()}
    for name, table in model.tables.items():
        words = len(table.lexicon.spelled)
        table.make_room()
        found[f"table {name}"] = table.weight[:, :words].cpu().numpy()
        found[f"known {name}"] = table.known[:, :words]
    return found


def put_arrays(model: Model, arrays: dict[str, NDArray[Any]], source: str) -> None:
    """The other way; a file of another model, or of other replicas, is refused."""
    mine = arrays_of(model)
    if odd := sorted(mine.keys() ^ arrays.keys()):
        where = "the run, not in the file" if odd[0] in mine else "the file, not in the run"
        raise InputError(f'{source}: it holds the weights of another model: "{odd[0]}" is in {where}')
    for name, array in arrays.items():
        if not _fits(array, mine[name]):
            shapes = f"{list(array.shape)}, not {list(mine[name].shape)}"
            raise InputError(f'{source}: it holds the weights of another run: "{name}" is {shapes}')
    for name in model.weights:
        model.weights[name] = torch.from_numpy(arrays[f"weight {name}"]).to(model.device)
    for name, table in model.tables.items():
        table.weight = torch.from_numpy(arrays[f"table {name}"]).to(model.device)
        table.known = arrays[f"known {name}"]


def _fits(array: NDArray[Any], mine: NDArray[Any]) -> bool:
    """Whether it can stand in mine's place; a side of no length is one that has yet to grow."""
    if (array.ndim, array.dtype) != (mine.ndim, mine.dtype):
        return False
    return all(have in (0, given) for given, have in zip(array.shape, mine.shape, strict=True))


def load_agent(folder: Path, device: str = "cpu") -> Agent:
    """The agent that a run's folder holds."""
    config, path = read_config(folder), folder / "vocabulary.json"
    settings = Settings(**config["settings"])
    vocabulary = read_json(path, f"{folder}: the run has not finished a round yet")
    try:
        states = Lexicon(vocabulary["states"], settings.bag_norm)
        actions = states if settings.shared else Lexicon(vocabulary["actions"], settings.bag_norm)
        if settings.model == "table":
            for lexicon, side in ((states, "states"), (actions, "actions")):
                for text in vocabulary["texts"][side]:
                    lexicon.id(text)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not the words of a run: {error}") from error
    shape = shape_of(settings, config["most_actions"])
    model = build_model(settings.model, shape, states, actions, settings.seeds, torch_device(device))
    path = folder / "model.safetensors"
    arrays, metadata = tensor_file.load(path)
    if metadata.get("game", config["game"]["sha256"]) != config["game"]["sha256"]:
        raise InputError(f"{path}: it holds the weights of another story")
    put_arrays(model, arrays, str(path))
    return Agent(model, settings)


def read_config(folder: Path) -> dict[str, Any]:
    """What a run's folder says of itself."""
    path = folder / "config.json"
    found: dict[str, Any] = read_json(path, f"{folder}: no run is here: there is no config.json")
    try:
        Settings(**found["settings"])
        for name in ("source", "lenient", "encoding", "sha256"):
            found["game"][name]
        found["most_actions"]
    except (KeyError, TypeError, InputError) as error:
        raise InputError(f"{path}: not the settings of a run: {error}") from error
    return found


def game_of(folder: Path, **choices: bool) -> StoryGame:
    """The game that a run learned, opened as it was then."""
    kept = read_config(folder)["game"]
    return make(kept["source"], lenient=kept["lenient"], encoding=kept["encoding"], **choices)


def shape_of(settings: Settings, most_actions: int) -> Shape:
    """How large the model is that the settings ask for."""
    s = settings
    return Shape(s.hidden, s.layers, s.interaction, s.action_hidden, s.shared, most_actions)


def torch_device(name: str) -> torch.device:
    """A device that is there, or a sentence."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()  # one that only pretends gives nothing back
    except (RuntimeError, AssertionError, ImportError) as error:
        raise InputError(f'the device "{name}" is not there: use cpu') from error
    return device


def read_json(path: Path, missing: str) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(missing) from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}") from error
