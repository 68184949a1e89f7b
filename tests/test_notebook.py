"""What notebooks display, and the notebooks of examples/, whose cells are run."""

import ast
import html
import json
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import drrn
from storytest.map.svg import game_map
from storytest.playtest.playtest import StoryTest
from storytest.playtest.report import report
from textgames.errors import InputError
from textgames.notebook import Line, curve, live_display

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
TINY: dict[str, Any] = {
    "rounds": 2,
    "replicas": 2,
    "episodes_per_round": 10,
    "evaluation_episodes": 10,
}
TINY |= {"updates": 5, "batch_size": 16}


def parsed(svg: Any) -> Any:
    return ElementTree.fromstring(svg)


pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture(scope="module")
def trainer():
    trained = drrn.trainer("long-watch", **TINY)
    trained.fit()
    return trained


def test_a_page_is_displayed_with_its_actions_and_escaped():
    page: Any = drrn.Observation("<b>Fog.</b>\n\nA bell.", ("Row & row.", "Wait."), -0.1)
    text = page._repr_html_()
    assert "&lt;b&gt;Fog.&lt;/b&gt;" in text and "<li>Row &amp; row.</li>" in text
    assert "reward -0.1" in text and "The end" not in text
    ending: Any = drrn.Observation("Over.")
    assert "The end." in ending._repr_html_()


def test_q_values_have_a_bar_for_each_action_and_are_an_array(trainer):
    page = trainer.game.reset(seed=0)
    q = trainer.agent.ask(page.text, page.actions)
    assert isinstance(q, np.ndarray) and q.shape == (2, len(page.actions))
    shown: Any = q
    text = html.unescape(shown._repr_html_())
    means = q.mean(axis=0)
    for action, mean in zip(page.actions, means, strict=True):
        assert f">{action}</td><td>{mean:.2f}</td>" in text
    assert text.count("#2f6fab") == 1 and f"width: {100:.1f}%" in text
    replica: Any = q[0]
    assert replica._repr_html_() is None  # one replica has no deviation


def test_a_round_has_the_mean_score_over_replicas(trainer):
    rows = [row for row in trainer.rows if row["round"] == 2]
    finished = drrn.trainer("long-watch", **TINY).fit()
    means = np.mean([row["softmax_final_reward"] for row in rows])
    assert finished.score() == finished.score("softmax") == pytest.approx(means)
    assert finished.score("best", "steps") == finished.mean("best_steps")
    with pytest.raises(InputError, match='"sofmax"'):
        finished.score("sofmax")
    svg = parsed(finished._repr_html_())
    assert len(svg.findall(".//{*}circle")) == 2 * 2  # rounds, policies


def test_fit_trains_to_the_end_and_refuses_to_go_on(trainer):
    assert trainer.round == 2
    with pytest.raises(InputError, match="all 2 rounds"):
        trainer.fit()


def test_every_repr_is_one_short_line(trainer):
    compiled = drrn.compile_game(trainer.game)
    agent = trainer.agent
    policies = (agent.policy(), drrn.random_policy(0), drrn.best(compiled))
    for value in (trainer, agent, trainer.game, compiled, *policies):
        assert "\n" not in repr(value) and len(repr(value)) < 100 and " at 0x" not in repr(value)
    settings = trainer.settings
    assert eval(repr(settings), {"Settings": drrn.Settings}) == settings


def test_a_run_is_displayed_as_its_curve(trainer, tmp_path):
    trainer.save(tmp_path / "run")
    run = drrn.Run(tmp_path / "run")
    picture = run.plot()
    assert "The Long Watch" in picture.svg and run._repr_html_() == picture.svg
    picture.save(tmp_path / "curve.svg")
    assert (
        (tmp_path / "curve.svg").read_text(encoding="utf-8").endswith(picture.svg.partition(">")[2])
    )
    with pytest.raises(InputError, match=r"\.svg"):
        picture.save(tmp_path / "curve.png")
    assert "\n" not in repr(run) + repr(picture)


def test_the_band_of_a_curve_ends_at_the_best_possible_score():
    line = Line("softmax", [10, 20], [18.0, 19.5], [4.0, 4.0])
    svg = parsed(curve("A game", [line], {"random": -7.0, "best": 20.0}))
    paths = svg.findall(".//{*}path")
    band = next(path.get("d") for path in paths if path.get("fill"))
    heights = [float(y) for y in re.findall(r",([\d.]+)", band)]
    best = [path.get("d") for path in paths if path.get("stroke-dasharray")][1]
    assert min(heights) == float(re.findall(r" ([\d.]+)H", best)[0])


def test_a_report_and_the_map_are_displayed():
    game: Any = drrn.make(str(ROOT / "examples/cellar.twee"), lenient=True)
    findings = StoryTest(game, clicks=1_000).run()
    assert "Matches" in (report(findings)._repr_html_() or "") and "4 problems" in repr(findings)
    svg = game_map(game)._repr_html_()
    assert "<svg" in svg and "Attic" not in svg  # never reached


def test_a_notebook_displays_each_round_in_place(monkeypatch):
    shown: list[Any] = []
    handle = SimpleNamespace(update=shown.append)
    display: Any = ModuleType("IPython.display")
    display.HTML = str
    display.display = lambda value, display_id: handle
    ipython: Any = ModuleType("IPython")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=True)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    last = drrn.trainer("long-watch", **TINY).fit()
    assert [each.number for each in shown] == [1, 2] and shown[-1] is last
    ipython.get_ipython = lambda: None
    assert live_display() is None


def test_the_notebooks_are_saved_without_outputs():
    assert len(NOTEBOOKS) == 2
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert all(not cell.get("outputs") for cell in cells)


@pytest.mark.full
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_displays_something_in_each_cell(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            *body, last = ast.parse("".join(cell["source"])).body
            assert isinstance(last, ast.Expr)
            exec(compile(ast.Module(body, []), path.name, "exec"), names)
            value = eval(compile(ast.Expression(last.value), path.name, "eval"), names)
            show = getattr(value, "_repr_html_", lambda value=value: repr(value))
            assert show()
    if "strong" in names:
        assert names["last"].score("best") > names["paper"].rows[-1]["softmax_final_reward"]
    else:
        assert names["trainer"].agent.act(names["page"].text, names["page"].actions)
