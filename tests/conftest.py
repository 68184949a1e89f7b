"""What the tests share: the folder of other people's games, where it is present, and small stories."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import drrn
from drrn.runs.curve import draw_run
from drrn.stories.twine.story_game import StoryGame
from tests.experiment_jobs import InProcessWorkers
from tests.imitation import add_imitation, write_clone
from tests.paper_games import ABSENT, SHARED
from tests.stories import FORK, REWARDS

Story = Callable[..., StoryGame]

settings.register_profile(
    "drrn", deadline=None
)  # an example that takes long on a busy machine is no failure
settings.load_profile("drrn")


@pytest.fixture(scope="session", autouse=True)
def session_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One data folder for all tests, so that none writes to the user's and games are compiled once."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "drrn.files"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRRN_HOME", str(folder))
        yield folder


@pytest.fixture(scope="session", autouse=True)
def placeholder_curves() -> Iterator[None]:
    """A run's curve is a stand-in, since drawing one takes longer than a small run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "drrn.runs.curve.draw_run", lambda *given: given[-1].write_bytes(b"no picture")
        )
        yield


@pytest.fixture
def real_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    """The curve is drawn after all."""
    monkeypatch.setattr("drrn.runs.curve.draw_run", draw_run)


@pytest.fixture(scope="module")
def jobs_in_process() -> Iterator[None]:
    """The jobs of a command are done in this process, not in ones of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("drrn.lab.experiments.workers.Processes", InProcessWorkers)
        yield


@pytest.fixture
def shared_games() -> Path:
    if not SHARED.is_dir():
        pytest.skip(ABSENT)
    return SHARED


@pytest.fixture
def story(tmp_path: Path) -> Story:
    """A game from Twee source (and, if given, a TOML), with the actions in the story's order unless asked."""

    def opened(twee: str, toml: str | None = None, **options: bool) -> StoryGame:
        path = tmp_path / "tale.twee"
        path.write_text(twee, encoding="utf-8")
        if toml is not None:
            path = tmp_path / "tale.toml"
            path.write_text('story = "tale.twee"\n' + toml, encoding="utf-8")
        return drrn.make(path, **{"shuffle": False, **options})

    return opened


@pytest.fixture
def fork(story: Story) -> StoryGame:
    """The small story with rewards, opened."""
    return story(FORK, REWARDS, shuffle=True)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of the test's own."""
    monkeypatch.setenv("DRRN_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def shared_compile_cache(home: Path, session_home: Path) -> None:
    """In the data folder of the test's own, games that other tests compiled need not be compiled again."""
    (session_home / "cache").mkdir(parents=True, exist_ok=True)
    home.mkdir()
    (home / "cache").symlink_to(session_home / "cache")


@pytest.fixture
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder of the test's own."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def imitation(tmp_path: Path) -> Path:
    """Something like a clone of the authors' repository."""
    return write_clone(tmp_path / "text-games")


@pytest.fixture(scope="session")
def imitated_games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of both games as they are added from the imitation."""
    folder = tmp_path_factory.mktemp("imitated")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRRN_HOME", str(folder / "home"))
        made, _ = add_imitation(write_clone(folder / "text-games"))
        return made.path


@pytest.fixture
def game_path(request: pytest.FixtureRequest) -> Callable[[str], str | Path]:
    """What `make` opens for a name in a test's list: `FIXTURE/FILE` lies in the folder that the fixture gives."""

    def found(name: str) -> str | Path:
        folder, _, file = name.rpartition("/")
        return request.getfixturevalue(folder) / file if folder else name

    return found


@pytest.fixture
def tale(tmp_path: Path) -> Path:
    """A small story with rewards, to train on."""
    (tmp_path / "tale.twee").write_text(FORK)
    (tmp_path / "tale.toml").write_text('story = "tale.twee"\n' + REWARDS)
    return tmp_path / "tale.toml"


@pytest.fixture
def import_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder is the test's own; what is imported from there is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        places = [
            getattr(sys.modules[name], "__file__", None),
            *getattr(sys.modules[name], "__path__", []),
        ]
        if any(
            str(tmp_path) in str(place) for place in places
        ):  # a folder without __init__.py has no file
            del sys.modules[name]


@pytest.fixture
def stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small modules of ours stand where the suites of other people's games would be installed, and so does Java."""
    folder = Path(__file__).parent / "stand_ins"
    names = [path.stem for path in folder.glob("*.py")]
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(folder)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "java").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    yield
    for name in names:
        sys.modules.pop(name, None)
