"""Any game that follows the contract is trained, evaluated, asked, played, saved and resumed."""

import csv
import json
from typing import Any

import numpy as np
import pytest

import drrn
from drrn.runs.trainer import Trainer
from drrn.settings import Settings
from tests.commands import main
from tests.runs import results_of, same_results, train
from tests.sample_games import CommandsEnv, Dice, Doors, FixedEnv, Walk
from tests.source_code import ROOT
from tests.trainings import CPU, SMALL, Stepped, biases, same_weights
from textgames.compiled.compile import compile_game
from textgames.game.contract import Observation
from textgames.openers import as_game

GAMES = {
    "ten lines of Python": Walk,
    "one with all optional attributes": lambda: Stepped(Dice()),
    "one that lists its outcomes": Doors,
    "an environment with commands": CommandsEnv,
    "an environment with a fixed list": FixedEnv,
    "a compiled game": lambda: compile_game(Dice(), cache=False),
    "a compiled story": lambda: compile_game(drrn.make("long-watch")),
    "a name": lambda: "long-watch",
    "a module and a factory": lambda: "tests.sample_games:Walk",
}


QUICK = ("one that lists its outcomes", "an environment with commands", "a module and a factory")


@pytest.mark.parametrize(
    "open_game",
    [
        pytest.param(each, id=name, marks=() if name in QUICK else pytest.mark.full)
        for name, each in GAMES.items()
    ],
)
def test_any_game_is_trained_evaluated_asked_played_saved_loaded_and_resumed(open_game, tmp_path):
    settings = SMALL
    trainer = drrn.trainer(open_game(), paper=True, **settings)
    first = biases(trainer)
    for result in trainer.train():
        trainer.save(tmp_path / "run")
        if result.number == 1:
            break
    page = trainer.game.reset(seed=0)
    q = trainer.agent.ask(page.text, page.actions)
    assert q.shape == (settings["replicas"], len(page.actions))

    agent = drrn.load(tmp_path / "run")
    assert np.array_equal(agent.ask(page.text, page.actions), q)
    evaluations = agent.evaluate(open_game(), policies=["greedy"], episodes=4)
    assert [each.summary.episodes for each in evaluations] == [4] * settings["replicas"]
    policy = agent.policy("greedy", seed=1)
    episodes = list(drrn.play_episodes(as_game(open_game()), policy, episodes=2, seed=1))
    assert all(episode.steps > 0 for episode in episodes)

    by_name = isinstance(open_game(), str)
    resumed = drrn.resume(tmp_path / "run", *([] if by_name else [open_game()]))
    assert resumed.round == 1
    list(resumed.train())
    whole = drrn.trainer(open_game(), paper=True, **settings)
    list(whole.train())
    assert same_weights(resumed, whole) and resumed.rows == whole.rows
    for before, after in zip(first, biases(whole), strict=True):
        assert not np.array_equal(before, after)
    resumed.save(tmp_path / "run")
    rows = csv.DictReader(
        (tmp_path / "run/evaluations.csv").read_text(encoding="utf-8").splitlines()
    )
    assert [int(row["round"]) for row in rows] == sorted([1, 2] * settings["replicas"])


def test_a_game_without_copies_plays_one_episode_at_a_time():
    class Alone(Walk):
        running = False

        def reset(self, seed=None):
            assert not self.running, "an episode started before the last one ended"
            self.running = True
            return super().reset(seed)

        def step(self, index):
            page = super().step(index)
            self.running = not page.ended
            return page

    trainer = drrn.trainer(Alone(), paper=True, **SMALL)
    rounds = list(trainer.train())
    assert len(rounds) == 2 and rounds[0].evaluations[0].summary.endings == {"the end": 6}


INVALID: list[tuple[Any, str]] = [
    ("a text", "Observation, not str"),
    (("here", "go"), "actions .*, not 'go'"),
    (("here", (1, 2)), "actions "),
    ((None, ("on",)), "text .*, not NoneType"),
    (("here", ("on",), None), "reward .*, not None"),
    (("here", ("on",), float("nan")), "reward .*, not nan"),
]


@pytest.mark.parametrize(("page", "why"), INVALID, ids=str)
def test_the_error_for_an_invalid_observation_names_the_field(page, why):
    class Wrong(Walk):
        def reset(self, seed=None):
            return page if isinstance(page, str) else Observation(*page)

    with pytest.raises(drrn.InputError, match=f"walk: .*{why}"):
        list(drrn.trainer(Wrong(), paper=True, **SMALL).train())


def play_at_random(game):
    return list(drrn.play_episodes(game, drrn.random_policy(0), episodes=2, seed=0))


def test_numpy_numbers_and_lists_are_converted():
    class Arrays(Walk):
        def current_page(self):
            page = super().current_page()
            actions: Any = list(page.actions)
            return Observation(page.text, actions, np.float32(page.reward))

    assert [type(episode.total) for episode in play_at_random(Arrays())] == [float, float]
    rounds = drrn.trainer(Arrays(), paper=True, **SMALL).train()
    assert [result.number for result in rounds] == [1, 2]


def test_copies_that_are_the_same_object_are_rejected():
    class Same(Walk):
        def another(self):
            return self

    with pytest.raises(
        drrn.InputError,
        match=r"walk: another\(\), or its factory, must return a new game each time",
    ):
        drrn.trainer(Same(), paper=True, **SMALL)


def test_a_changed_object_is_not_opened_again_by_its_name():
    game: Any = drrn.make("tests.sample_games:Walk")
    game.current_page = lambda: Observation(
        "Changed.", () if game.stone == 3 else ("On.",), 7.0 * (game.stone == 3)
    )
    *_, last = drrn.trainer(game, paper=True, **SMALL).train()
    assert {e.summary.mean_final_reward for e in last.evaluations} == {7.0}


def test_an_interrupted_round_is_learned_once():
    trainer: Any = drrn.trainer("long-watch", paper=True, **SMALL)
    whole = drrn.trainer("long-watch", paper=True, **SMALL)

    def interrupt(*_):
        raise KeyboardInterrupt

    learn = trainer.learner.learn
    trainer.learner.learn = interrupt
    with pytest.raises(KeyboardInterrupt):
        next(trainer.train())
    trainer.learner.learn = learn
    transitions = [result.transitions for result in trainer.train()]
    assert transitions == [result.transitions for result in whole.train()]
    assert same_weights(trainer, whole) and not trainer.phase


ODD_GAMES = """
import drrn

class Raises:
    name = "raises"
    steps = 0

    def reset(self, seed=None):
        return drrn.Observation("here", ("on", "off"))

    def step(self, index):
        Raises.steps += 1  # of all copies
        return self.page() if Raises.steps > LIMIT else drrn.Observation("there", (), float(index))

    def page(self):
        raise OSError("broken")

class NoActions(Raises):
    def reset(self, seed=None):
        return drrn.Observation("here")
"""
TRAIN = "--model table --rounds 3 --replicas 1 --out run --episodes-per-round 4".split()


def test_an_exception_of_a_users_game_is_one_sentence_and_the_run_is_kept(import_folder, capsys):
    (import_folder / "odd.py").write_text(ODD_GAMES.replace("LIMIT", "1500"))
    assert main(["train", "odd:Raises", *TRAIN, "--evaluation-episodes", "200"]) == 2
    output = capsys.readouterr()
    (message,) = [line for line in output.err.splitlines() if line.startswith("drrn: ")]
    assert "odd.py, line 16: " in message and "Raises.page" not in message
    assert "Raises.step raised OSError: broken" in message
    assert "round   2/3" in output.out and "round   3/3" not in output.out
    assert len(drrn.Run("run").rounds()) == 2


def test_a_game_whose_first_page_has_no_actions_is_refused(import_folder, capsys):
    (import_folder / "odd.py").write_text(ODD_GAMES)
    assert main(["train", "odd:NoActions", *TRAIN]) == 2
    assert "first page has no actions" in capsys.readouterr().err


# --- from the command line


def test_every_command_accepts_a_users_game(tmp_path, monkeypatch, capsys, import_folder):
    source = (ROOT / "tests/sample_games.py").read_text(encoding="utf-8")
    (tmp_path / "mygames.py").write_text(source, encoding="utf-8")
    small = "--updates 5 --rounds 2 --episodes-per-round 10 --evaluation-episodes 4 --replicas 2 --hidden 5".split()
    for name, workers in (("Walk", "2"), ("Doors", "1"), ("fixed_env", "1")):
        run = tmp_path / name
        options = ["--out", str(run), "--workers", workers, *small]
        assert main(["train", f"mygames:{name}", *options]) == 0
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


def saved(game, folder):
    """A trainer that trained one round on a game and saved its run."""
    trainer = drrn.trainer(game, paper=True, **{**SMALL, "rounds": 1})
    list(trainer.train())
    trainer.save(folder)
    return trainer


def test_a_run_of_an_object_is_resumed_and_saved_with_that_object_alone(tmp_path, capsys):
    run = tmp_path / "run"
    trainer = saved(Walk(), run)
    trainer.save(run)
    with pytest.raises(drrn.InputError, match="already exists"):
        saved(Walk(), run)
    with pytest.raises(drrn.InputError, match="the game has changed"):
        drrn.resume(run, Doors())
    assert main(["train", "--resume", str(run)]) == 2
    assert "was given as an object" in capsys.readouterr().err
    game = ["--game", "tests.sample_games:Walk"]
    assert main(["evaluate", str(run), *game, "--episodes", "2"]) == 0


# --- documentation


def test_the_command_and_python_give_the_same_results(tmp_path, fork, tale):
    assert train(tale, tmp_path / "run") == 0
    config = json.loads((tmp_path / "run/config.json").read_text())
    trainer = Trainer(drrn.make(tale), Settings.from_flat(**config["settings"]), CPU)
    list(trainer.train())
    trainer.save(tmp_path / "again")
    assert same_results(results_of(tmp_path / "run"), results_of(tmp_path / "again"))
