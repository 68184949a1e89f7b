"""Any game that keeps the contract can be trained, evaluated, asked, played, saved, loaded and resumed."""

import csv
import gc
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

import drrn
from drrn.cli import main
from drrn.compiled.compile import compile_game
from drrn.game.contract import Observation
from drrn.learning.fast.q_learning import FastQLearning
from drrn.runs.trainer import Trainer
from drrn.settings import Settings
from tests.runs import results_of, same_results
from tests.sample_games import CommandsEnv, Dice, Doors, FixedEnv, Walk
from tests.trainings import CPU, SMALL, biases, same_weights

GAMES = {
    "ten lines of Python": Walk,
    "one with all optional attributes": lambda: PlainDice(),
    "one that lists its outcomes": Doors,
    "an environment with commands": CommandsEnv,
    "an environment with a fixed list": FixedEnv,
    "a compiled game": lambda: compile_game(Dice(), cache=False),
    "a compiled story": lambda: compile_game(drrn.make("long-watch")),
    "a name": lambda: "long-watch",
    "a module and a factory": lambda: "tests.sample_games:Walk",
}


class PlainDice:
    """Dice that cannot be compiled: the methods that list outcomes are not there."""

    def __init__(self):
        self.dice = Dice()

    def __getattr__(self, name):
        if name in ("opening", "outcomes", "look", "dice") or name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.dice, name)

    def another(self):
        return PlainDice()


@pytest.mark.parametrize("form", ["rounds", "online"])
@pytest.mark.parametrize("opened", GAMES.values(), ids=GAMES)
def test_any_game_is_trained_evaluated_asked_played_saved_loaded_and_resumed(
    opened, form, tmp_path
):
    settings = {**SMALL, "form": form, "replicas": 1 if form == "online" else 2}
    if form == "online":
        del settings["epochs"]
        settings["episodes_per_round"] = 6
    trainer = drrn.trainer(opened(), paper=True, **settings)
    first = biases(trainer)
    for finished in trainer.train():
        trainer.save(tmp_path / "run")
        if finished.number == 1:
            break
    page = trainer.game.reset(seed=0)
    asked = trainer.agent.ask(page.text, page.actions)
    assert asked.shape == (settings["replicas"], len(page.actions))

    agent = drrn.load(tmp_path / "run")
    assert np.array_equal(agent.ask(page.text, page.actions), asked)
    sampled = agent.evaluate(opened(), policies=["greedy"], episodes=4)
    assert [e.summary.episodes for e in sampled] == [4] * settings["replicas"]
    played = list(drrn.play_episodes(opened(), agent.policy("greedy", seed=1), episodes=2, seed=1))
    assert all(episode.steps > 0 for episode in played)

    by_name = isinstance(opened(), str)
    resumed = drrn.resume(tmp_path / "run", *([] if by_name else [opened()]))
    assert resumed.round == 1
    list(resumed.train())
    whole = drrn.trainer(opened(), paper=True, **settings)
    list(whole.train())
    assert same_weights(resumed, whole) and resumed.rows == whole.rows
    assert not any(
        np.array_equal(a, b) for a, b in zip(first, biases(whole), strict=True)
    )  # it has learned
    resumed.save(tmp_path / "run")
    rows = csv.DictReader(
        (tmp_path / "run/evaluations.csv").read_text(encoding="utf-8").splitlines()
    )
    assert [int(row["round"]) for row in rows] == sorted([1, 2] * settings["replicas"])


def test_a_game_without_copies_is_used_alone_and_in_turn():
    class Alone(Walk):
        under_way = False

        def reset(self, seed=None):
            assert not self.under_way, "an episode began before the last one had ended"
            self.under_way = True
            return super().reset(seed)

        def step(self, index):
            shown = super().step(index)
            self.under_way = not shown.ended
            return shown

    trainer = drrn.trainer(Alone(), paper=True, **SMALL)
    rounds = list(trainer.train())
    assert len(rounds) == 2 and rounds[0].evaluations[0].summary.endings == {"the end": 6}
    with pytest.raises(drrn.InputError, match=r"allows 1 at a time; give it a method another\(\)"):
        list(drrn.trainer(Alone(), paper=True, form="online", replicas=2, rounds=1).train())


def test_a_truncated_episode_is_stopped_and_bootstraps():
    """In the hall, going round in circles costs 1 a step and never ends: truncated, it is worth -1 / (1 - γ)."""

    class Circles(CommandsEnv):
        def _commands(self):
            return [f"go to the {place}" for place in ("cellar", "attic") if place != self.room]

    settings = {
        "model": "table",
        "rounds": 60,
        "episodes_per_round": 4,
        "discount": 0.5,
        "learning_rate": 0.3,
    }
    trainer = drrn.trainer(
        Circles(limit=5), paper=True, replicas=1, evaluation_episodes=3, epochs=5, **settings
    )
    *_, last = trainer.train()
    assert all(e.measures["stopped"] == 1 and e.summary.mean_steps == 5 for e in last.evaluations)
    assert trainer.agent.ask("You are in the cellar.", ["go to the attic"]) == pytest.approx(
        -2.0, abs=0.05
    )


def test_settings_and_endings_of_a_game_are_used():
    trainer = drrn.trainer(
        Dice(), paper=True, **{name: value for name, value in SMALL.items() if name != "hidden"}
    )
    assert trainer.settings.model.hidden == 8  # its own settings
    *_, last = trainer.train()
    assert set(last.evaluations[0].summary.endings) <= {"rich", "poor"}


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        ("a text", "reset and step must return a drrn.Observation, not str"),
        (Observation(None, ("on",)), "the text of an observation must be a str, not NoneType"),
        (
            Observation("here", "go"),
            "the actions of an observation must be a tuple of str, not 'go'",
        ),
        (Observation("here", (1, 2)), "the actions of an observation must be a tuple of str"),
        (
            Observation("here", ("on",), None),
            "the reward of an observation must be a finite number, not None",
        ),
        (
            Observation("here", ("on",), float("nan")),
            "the reward of an observation must be a finite number, not nan",
        ),
    ],
)
def test_a_value_that_is_not_an_observation_is_one_error(shown, why):
    class Wrong(Walk):
        def reset(self, seed=None):
            return shown

    for use in (
        lambda: list(drrn.trainer(Wrong(), paper=True, **SMALL).train()),
        lambda: list(played(Wrong())),
    ):
        with pytest.raises(drrn.InputError, match=re.escape(f"walk: {why}")):
            use()


def played(game):
    return drrn.play_episodes(game, drrn.random_policy(0), episodes=2, seed=0)


def test_numpy_numbers_and_lists_are_converted():
    class Arrays(Walk):
        def current_page(self):
            shown = super().current_page()
            return Observation(shown.text, list(shown.actions), np.float32(shown.reward))

    assert [type(episode.total) for episode in played(Arrays())] == [float, float]
    assert [
        finished.number for finished in drrn.trainer(Arrays(), paper=True, **SMALL).train()
    ] == [1, 2]


def test_copies_that_are_the_same_game_are_refused():
    class Same(Walk):
        def another(self):
            return self

    with pytest.raises(
        drrn.InputError, match=r"walk: another\(\) must return a new game each time"
    ):
        drrn.trainer(Same(), paper=True, **SMALL)


def test_copies_are_bounded_and_closed():
    class Heavy(Walk):
        open = most = 0

        def another(self):
            Heavy.open += 1
            Heavy.most = max(Heavy.most, Heavy.open)
            return Heavy()

        def close(self):
            Heavy.open -= 1

    trainer = drrn.trainer(Heavy(), paper=True, **{**SMALL, "episodes_per_round": 200})
    list(trainer.train())
    assert Heavy.most == 64
    del trainer
    gc.collect()
    assert Heavy.open == 0


def test_an_object_that_was_changed_is_played_as_it_is():
    game = drrn.make("tests.sample_games:Walk")
    game.current_page = lambda: Observation(
        "Changed.", () if game.stone == 3 else ("On.",), 7.0 * (game.stone == 3)
    )
    *_, last = drrn.trainer(game, paper=True, **SMALL).train()
    assert {e.summary.mean_final_reward for e in last.evaluations} == {7.0}


def test_a_round_that_was_interrupted_is_learned_once(caplog):
    trainer = drrn.trainer("long-watch", paper=True, **SMALL)
    whole = drrn.trainer("long-watch", paper=True, **SMALL)

    def interrupt(*_):
        raise KeyboardInterrupt

    learn = trainer.learner.learn
    trainer.learner.learn = interrupt
    with pytest.raises(KeyboardInterrupt):
        next(trainer.train())
    trainer.learner.learn = learn
    with caplog.at_level("WARNING"):
        assert [f.transitions for f in trainer.train()] == [f.transitions for f in whole.train()]
    assert (
        same_weights(trainer, whole)
        and "round was interrupted while it learned" in caplog.text
        and not trainer.is_torn
    )


def test_the_error_for_too_many_actions_names_the_setting():
    class Wide(Walk):
        def step(self, index):
            return super().step(index % 2)

        def current_page(self):
            shown = super().current_page()
            return Observation(
                shown.text,
                tuple(f"Way {i}." for i in range(30)) if shown.actions else (),
                shown.reward,
            )

    with pytest.raises(
        drrn.InputError, match="30 actions, but the model has 20 outputs; set most_actions"
    ):
        small = {name: value for name, value in SMALL.items() if name != "hidden"}
        list(drrn.trainer(Wide(), paper=True, model="linear", **small).train())
    assert list(
        drrn.trainer(Wide(), paper=True, model="max-action", most_actions=30, **SMALL).train()
    )


def test_a_policy_that_does_not_exist_is_refused():
    trainer = drrn.trainer(Walk(), paper=True, **SMALL)
    with pytest.raises(drrn.InputError, match=r'no policy is named "gredy".*Did you mean "greedy"'):
        trainer.agent.policy("gredy")
    with pytest.raises(drrn.InputError, match='no policy is named "gredy"'):
        trainer.agent.evaluate(Walk(), policies=["gredy"])


def test_no_actions_have_no_q_values_and_a_text_is_no_list():
    agent = drrn.trainer("long-watch", paper=True, model="table", rounds=1, replicas=2).agent
    assert agent.ask("a page", []).shape == (2, 0)
    assert agent.ask("a page", ["an action"]).tolist() == [[0.0], [0.0]]
    with pytest.raises(drrn.InputError, match="must be a list of texts"):
        agent.ask("a page", "go north")


def test_training_restores_the_number_of_threads():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        trainer = drrn.trainer("long-watch", paper=True, **{**SMALL, "rounds": 2})
        for _ in trainer.train():
            assert torch.get_num_threads() == 2
        trainer.agent.evaluate(trainer.game, episodes=2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


# --- learners


class Lazy(FastQLearning):
    """Q-learning that learns at the first of its rounds only."""

    def learn(self, generators):
        self.rounds = getattr(self, "rounds", 0) + 1
        return super().learn(generators) if self.rounds == 1 else 0


def test_a_users_learner_is_named_by_its_module(fork):
    lazy = drrn.trainer(
        fork, paper=True, learner="tests.test_training_own_games:Lazy", **{**SMALL, "rounds": 3}
    )
    once = drrn.trainer(fork, paper=True, **{**SMALL, "rounds": 1})
    assert [finished.transitions > 0 for finished in lazy.train()] == [True, False, False]
    list(once.train())
    assert same_weights(lazy, once)
    with pytest.raises(drrn.InputError, match="must be a class or a function of"):
        drrn.trainer(fork, paper=True, learner="builtins:__doc__", **SMALL)


# --- from the command line


def test_every_command_accepts_a_users_game(tmp_path, monkeypatch, capsys, import_folder):
    source = Path(__file__).with_name("sample_games.py").read_text(encoding="utf-8")
    (tmp_path / "mygames.py").write_text(source, encoding="utf-8")
    small = "--updates 5 --rounds 2 --episodes-per-round 10 --evaluation-episodes 4 --replicas 2 --hidden 5".split()
    for name, workers in (("Walk", "2"), ("Doors", "1"), ("fixed_env", "1")):
        run = tmp_path / name
        assert (
            main(["train", f"mygames:{name}", "--out", str(run), "--workers", workers, *small]) == 0
        )
        assert main(["evaluate", str(run), "--episodes", "3"]) == 0
        assert main(["ask", str(run), "--examples", "3"]) == 0
        assert main(["play", f"mygames:{name}", "--policy", "random", "--episodes", "3"]) == 0
        assert json.loads((run / "config.json").read_text())["game"]["source"] == f"mygames:{name}"
    assert main(["evaluate", str(tmp_path / "Doors"), "--exact"]) == 0
    assert main(["inspect", "mygames:Doors"]) == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(["evaluate", str(tmp_path / "Walk"), "--episodes", "3", "--workers", "2"]) == 0
    assert "Traceback" not in capsys.readouterr().err


def test_more_rounds_are_saved_and_a_run_by_name_is_not_resumed_with_an_object(tmp_path):
    trainer = drrn.trainer("tests.sample_games:Walk", paper=True, **{**SMALL, "rounds": 1})
    list(trainer.train())
    trainer.save(tmp_path / "run")
    longer = drrn.resume(tmp_path / "run", rounds=4)
    next(longer.train())
    longer.save(tmp_path / "run")
    assert drrn.resume(tmp_path / "run").settings.run.rounds == 4
    with pytest.raises(drrn.InputError, match="by name; leave out the game"):
        drrn.resume(tmp_path / "run", Walk())
    assert drrn.resume(tmp_path / "run", "tests.sample_games:Walk").round == 2


def test_a_run_of_an_object_cannot_be_resumed_by_a_name_it_does_not_have(tmp_path, capsys):
    trainer = drrn.trainer(Walk(), paper=True, **{**SMALL, "rounds": 1})
    list(trainer.train())
    trainer.save(tmp_path / "run")
    assert main(["train", "--resume", str(tmp_path / "run")]) == 2
    assert "was given as an object, and no name opens it" in capsys.readouterr().err
    assert (
        main(
            [
                "evaluate",
                str(tmp_path / "run"),
                "--game",
                "tests.sample_games:Walk",
                "--episodes",
                "2",
            ]
        )
        == 0
    )


def test_a_run_is_not_saved_over_another(tmp_path):
    one, two = (drrn.trainer(Walk(), paper=True, **{**SMALL, "rounds": 1}) for _ in range(2))
    for trainer in (one, two):
        list(trainer.train())
    one.save(tmp_path / "run")
    one.save(tmp_path / "run")
    with pytest.raises(drrn.InputError, match="already exists"):
        two.save(tmp_path / "run")


def test_a_resumed_game_must_be_the_one_that_was_learned(tmp_path):
    trainer = drrn.trainer(Walk(), paper=True, **{**SMALL, "rounds": 1})
    list(trainer.train())
    trainer.save(tmp_path / "run")
    with pytest.raises(drrn.InputError, match="the game has changed since the run began"):
        drrn.resume(tmp_path / "run", Doors())


# --- documentation


def test_the_examples_in_the_docs_run(tmp_path, monkeypatch, capsys):
    text = (Path(__file__).parents[1] / "docs/games.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) >= 4
    monkeypatch.chdir(tmp_path)
    few = "\n".join(blocks).replace(
        "rounds=6, episodes_per_round=100", "rounds=1, episodes_per_round=20"
    )
    code = compile(few, "docs/games.md", "exec")
    scope = {"__name__": "docs"}
    exec(code, scope)
    told = capsys.readouterr().out
    assert (
        "states; the best play scores" in told
        and (tmp_path / "runs/doors/model.safetensors").exists()
    )
    assert scope["trainer"].round == 2


def test_same_numbers_by_the_command_and_by_python(tmp_path, fork, tale):
    from tests.runs import train

    assert train(tale, tmp_path / "run") == 0
    settings = Settings.from_flat(
        **json.loads((tmp_path / "run/config.json").read_text())["settings"]
    )
    trainer = Trainer(drrn.make(tale), settings, CPU)
    list(trainer.train())
    trainer.save(tmp_path / "again")
    assert same_results(results_of(tmp_path / "run"), results_of(tmp_path / "again"))
