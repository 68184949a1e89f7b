"""Fixtures shared by all tests: data folders, small stories, stand-ins for other people's games."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import textgames
from tests.paper_games import PAPER_GAMES_FOLDER
from tests.source_code import PACKAGES
from tests.stories import FORK, REWARDS
from tests.suite_files import child_processes
from textgames.game.contract import Game

Story = Callable[..., Game]

settings.register_profile("drrn", deadline=None)  # a busy machine must not fail a property test
settings.load_profile("drrn")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Skip a test file that needs another package of this repository, if that is not installed."""
    report = yield
    call = getattr(report, "call", None)
    return _skipped_without_package(report, call.excinfo if call else None, collector.path)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    """Skip a test that needs another package of this repository, if that is not installed."""
    report = yield
    return _skipped_without_package(report, call.excinfo, item.path)


def _skipped_without_package(report: Any, info: Any, path: Path) -> Any:
    """Return the report, as skipped if an error was raised by the import of a missing package."""
    error = info.value if info else None
    while error is not None:
        name = str(error.name).partition(".")[0] if isinstance(error, ImportError) else ""
        if name in PACKAGES and find_spec(name) is None:
            report.outcome = "skipped"
            report.longrepr = (str(path), 0, f"Skipped: needs the package {name}")
        error = error.__cause__ or error.__context__
    return report


@pytest.fixture
def environments() -> Callable[[], list[int]]:
    """Function that returns the processes of the environments that this test started."""
    earlier = set(child_processes())
    return lambda: [pid for pid in child_processes() if pid not in earlier]


@pytest.fixture
def one_thread() -> Iterator[None]:
    """PyTorch uses one thread."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session", autouse=True)
def session_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Data folder of all tests: none writes to the user's, and games are compiled once."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder = base / "textgames.files"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEXTGAMES_HOME", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def trust_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the code that earlier tests trusted."""
    monkeypatch.setenv("TEXTGAMES_TRUST", "")


@pytest.fixture(scope="module")
def jobs_in_process() -> Iterator[None]:
    """Run the jobs of a command in this process."""
    from tests.experiment_jobs import InProcessWorkers

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("drrn.experiments.workers.Processes", InProcessWorkers)
        yield


@pytest.fixture
def shared_games() -> Path:
    """Folder of the paper's games; skips the test if they are missing."""
    if not PAPER_GAMES_FOLDER.is_dir():
        pytest.skip("the paper's games are other people's work and not part of this repository")
    return PAPER_GAMES_FOLDER


@pytest.fixture
def story(tmp_path: Path) -> Story:
    """Function that opens Twee source with an optional TOML, without shuffling unless requested."""

    def open_story(twee: str, toml: str | None = None, **options: Any) -> Game:
        path = tmp_path / "tale.twee"
        path.write_text(twee, encoding="utf-8")
        if toml is not None:
            path = tmp_path / "tale.toml"
            path.write_text('story = "tale.twee"\n' + toml, encoding="utf-8")
        return textgames.make(path, **{"shuffle": False, **options})

    return open_story


@pytest.fixture
def fork(story: Story) -> Game:
    """The small story with rewards, as a game."""
    return story(FORK, REWARDS, shuffle=True)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new data folder for one test."""
    monkeypatch.setenv("TEXTGAMES_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def shared_compile_cache(home: Path, session_home: Path) -> None:
    """Let the new data folder use the games that other tests compiled."""
    (session_home / "cache").mkdir(parents=True, exist_ok=True)
    home.mkdir()
    (home / "cache").symlink_to(session_home / "cache")


@pytest.fixture
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the test's temporary folder the current one."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def imitation(tmp_path: Path) -> Path:
    """An imitated clone of the authors' repository."""
    from tests.imitation import write_clone

    return write_clone(tmp_path / "text-games")


@pytest.fixture(scope="session")
def imitated_games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the TOMLs of both games, installed from the imitated clone."""
    from tests.imitation import add_imitation, write_clone

    folder = tmp_path_factory.mktemp("imitated")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEXTGAMES_HOME", str(folder / "home"))
        add_imitation(write_clone(folder / "text-games"))
        return folder / "home" / "games"


@pytest.fixture
def game_path(request: pytest.FixtureRequest) -> Callable[[str], str | Path]:
    """Function that resolves FIXTURE/FILE to a file in the folder of that fixture."""

    def resolve(name: str) -> str | Path:
        folder, _, file = name.rpartition("/")
        if not folder:
            return name
        path: Path = request.getfixturevalue(folder) / file
        return path

    return resolve


@pytest.fixture
def tale(tmp_path: Path) -> Path:
    """The TOML of a small story with rewards, to train on."""
    (tmp_path / "tale.twee").write_text(FORK)
    (tmp_path / "tale.toml").write_text('story = "tale.twee"\n' + REWARDS)
    return tmp_path / "tale.toml"


@pytest.fixture
def import_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Current folder from which a test imports modules; they are unloaded afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        module = sys.modules[name]
        file = getattr(module, "__file__", None)
        folders = getattr(module, "__path__", [])  # a namespace package has no file
        if any(str(tmp_path) in str(path) for path in [file, *folders]):
            del sys.modules[name]


@pytest.fixture
def stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put stand-ins for the suites, and for Java, on the import path and on PATH."""
    folder = Path(__file__).parent / "tests" / "stand_ins"
    names = {path.stem for path in folder.iterdir()}

    def loaded() -> list[str]:
        return [module for module in sys.modules if module.partition(".")[0] in names]

    for module in loaded():
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.syspath_prepend(folder)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\nexec cat\n")  # until its input ends
    (tmp_path / "bin" / "java").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    yield
    for module in loaded():
        del sys.modules[module]
