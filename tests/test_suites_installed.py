"""The suites themselves, where they are installed: `scripts/test --suites` installs them."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import drrn
from drrn.suites.catalogue import SUITES
from tests.suite_files import child_processes
from tests.trainings import SMALL

ROOT = Path(__file__).parents[1]
ROM = "DRRN_JERICHO_FILE"  # a story file that Jericho knows; none can be part of this repository


def needs(name):
    """Skips where the suite, or the Java that it needs, is not there."""
    suite = SUITES[name]
    absent = importlib.util.find_spec(suite.module) is None
    reason = (
        f"{suite.title} is not installed: scripts/test --suites" if absent else "there is no Java"
    )
    return pytest.mark.skipif(
        absent or (suite.java and shutil.which("java") is None), reason=reason
    )


@pytest.fixture(scope="session")
def coin_file(tmp_path_factory):
    """A coin collector made by TextWorld."""
    path = tmp_path_factory.mktemp("textworld") / "coin.z8"
    make = Path(sys.executable).parent / "tw-make"
    subprocess.run([make, "tw-coin_collector", "--level", "2", "--seed", "3", "--output", path], check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    return path


@pytest.fixture
def opened(request):
    """Opens a game by its name, {coin} for TextWorld's file and {rom} for Jericho's, and closes it."""
    games = []

    def made(name):
        if "{rom}" in name and ROM not in os.environ:
            pytest.skip(f"no story file for Jericho: name one by {ROM}")
        coin = request.getfixturevalue("coin_file") if "{coin}" in name else ""
        games.append(drrn.make(name.format(coin=coin, rom=os.environ.get(ROM, ""))))
        return games[-1]

    yield made
    for game in games:
        game.close()


GAMES = [
    pytest.param("twx:coin?numLocations=3&numDistractorItems=0", marks=needs("twx")),
    pytest.param("twx:cooking?numLocations=2&seed=5", marks=needs("twx")),
    pytest.param("twx:commonsense?numLocations=1&numItemsToPutAway=1", marks=needs("twx")),
    pytest.param("textworld:{coin}", marks=needs("textworld")),
    pytest.param("jericho:{rom}?seed=3", marks=needs("jericho")),
    pytest.param(
        "scienceworld:lifespan-longest-lived?simplifications=easy", marks=needs("scienceworld")
    ),
]


@pytest.mark.parametrize("name", GAMES)
def test_a_game_of_an_installed_suite_keeps_the_contract_for_500_steps(opened, name, monkeypatch):
    """Random play may soon be over, so episodes follow each other until so many steps were taken."""
    game = opened(name)
    taken = []
    step = game.step
    monkeypatch.setattr(game, "step", lambda index: taken.append(index) or step(index))
    seed = 0
    while len(taken) < 500:
        drrn.check_game(game, seed=seed, episodes=2, max_steps=250)
        seed += 2


@pytest.mark.parametrize("name", GAMES)
def test_the_first_page_tells_something_and_its_actions_are_sorted(opened, name):
    page = opened(name).reset(0)
    assert len(page.text.split()) > 5 and len(page.actions) > 1
    assert list(page.actions) == sorted(set(page.actions))


@needs("twx")
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("twx:coins", 'has no game "coins". Did you mean "coin"'),
        ("twx:coin?numLocation=3", 'Unrecognized property name.* Did you mean "numLocations"'),
        ("twx:coin?numLocations=99", "Number of locations must be less than or equal to 11"),
    ],
)
def test_the_suite_reports_a_wrong_name(name, sentence):
    with pytest.raises(drrn.InputError, match=sentence):
        drrn.make(name)


@needs("twx")
def test_a_nearby_coin_is_collected(opened):
    """A pinned variation in two rooms is learned within a few rounds."""
    game = opened("twx:coin?numLocations=2&numDistractorItems=0&includeDoors=0&seed=2&max_steps=20")
    trainer = drrn.trainer(
        game, rounds=3, episodes_per_round=20, evaluation_episodes=10, replicas=1, hidden=20
    )
    *_, last = trainer.train()
    assert max(evaluation.summary.mean_return for evaluation in last.evaluations) > 0.9


@needs("twx")
def test_a_java_machine_that_dies_costs_its_episode(opened, caplog):
    game = opened("twx:coin?seed=1&copies=1")
    first = game.reset(0)
    (environment,) = child_processes()
    (java,) = child_processes(environment, leaders=False)
    os.kill(java, signal.SIGKILL)
    game.step(0)
    assert game.stopped and "the next one goes on in a new environment" in caplog.text
    assert game.reset(0) == first


@needs("textworld")
def test_a_trained_agent_plays_in_textworlds_own_loop(opened, coin_file, tmp_path):
    trainer = drrn.trainer(
        f"textworld:{coin_file}?max_steps=20", paper=True, **{**SMALL, "rounds": 1, "replicas": 1}
    )
    list(trainer.train())
    trainer.save(tmp_path / "run")
    trainer.game.close()
    program = [
        sys.executable,
        ROOT / "examples" / "textworld_loop.py",
        tmp_path / "run",
        coin_file,
        "2",
    ]
    told = subprocess.run(
        program, check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ROOT}
    )
    assert told.stdout.count("episode") == 2 and "score" in told.stdout


@needs("jericho")
def test_jericho_needs_no_download(opened):
    """Its own guess at objects wants a model of spaCy; the game's dictionary is at hand."""
    game = opened("jericho:{rom}?seed=3")
    page = game.reset(0)
    for _ in range(3):
        page = game.step(0)
    assert page.actions
