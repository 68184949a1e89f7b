"""Worker processes that step games: same results, errors, closed games."""

import gc

import pytest

import drrn
import textgames
from tests.sample_games import Walk
from tests.trainings import SMALL, same_weights


@pytest.mark.parametrize(
    "name",
    [
        "tests.sample_games:Dice",
        pytest.param("tests.sample_games:Walk", marks=pytest.mark.full),
        pytest.param("tests.sample_games:fixed_env", marks=pytest.mark.full),
    ],
)
def test_worker_processes_give_the_results_of_one_process(name):
    settings = {**SMALL, "rounds": 2, "matches": True}  # marks of words: the game is stepped
    trainers = [drrn.trainer(name, paper=True, workers=workers, **settings) for workers in (1, 2)]
    rounds = [list(trainer.train()) for trainer in trainers]
    assert same_weights(*trainers)
    assert [r.evaluations for r in rounds[0]] == [r.evaluations for r in rounds[1]]


def test_an_object_without_a_name_has_no_workers():
    with pytest.raises(textgames.InputError, match="workers open the game by its name"):
        drrn.trainer(Walk(), paper=True, workers=2, **SMALL)


BRITTLE = """
import os, pathlib, textgames
class Game:
    name = 'brittle'
    def reset(self, seed=None): return textgames.Observation('here', ('on',))
    def step(self, index): raise ArithmeticError('the reason')
class Missing(Game):
    def step(self, index): raise FileNotFoundError('my data is gone')
class Closing(Game):
    def step(self, index):
        if pathlib.Path('die').exists(): os._exit(3)
        return textgames.Observation('there', (), 1.0)
    def close(self): pathlib.Path(f'closed-{os.getpid()}').touch()
"""


@pytest.fixture
def brittle(tmp_path, import_folder):
    """Function that returns a trainer of a game above, with two workers."""
    (tmp_path / "brittle.py").write_text(BRITTLE)
    return lambda name: drrn.trainer(f"brittle:{name}", paper=True, workers=2, **SMALL)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Game", r"brittle\.py, line 6: .*ArithmeticError: the reason"),
        pytest.param("Missing", "FileNotFoundError: my data is gone", marks=pytest.mark.full),
    ],
)
def test_errors_in_a_worker_are_raised(brittle, name, message):
    with pytest.raises(textgames.InputError, match=message):
        list(brittle(name).train())


def test_workers_close_their_games_and_each_use_of_a_dead_worker_raises_an_error(brittle, tmp_path):
    trainer = brittle("Closing")
    list(trainer.train())
    del trainer
    gc.collect()
    assert len(list(tmp_path.glob("closed-*"))) == 2
    trainer = brittle("Closing")
    (tmp_path / "die").touch()
    for _ in range(2):
        with pytest.raises(textgames.InputError, match="code 3"):
            next(trainer.train())
