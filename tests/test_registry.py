"""Names of the user's own: module:name, entry points, and models and interactions given by them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import drrn
from drrn import registry
from drrn.cli import main
from drrn.errors import InputError
from drrn.models import Model, model_class
from drrn.models.drrn import Interaction, interaction_of
from drrn.settings import Settings
from tests.runs import results_of, resume_command, same_results, train

BUILT_IN = {"one": 1, "two": 2}


@pytest.fixture
def here(import_folder):
    """A working folder whose modules can be imported for as long as the test runs."""
    return import_folder


def test_a_built_in_name_is_looked_up():
    assert registry.resolve("model", "two", BUILT_IN) == 2


def test_module_and_attribute_are_found_in_the_current_folder(here):
    (here / "mine").mkdir()
    (here / "mine/things.py").write_text("class Box:\n    lid = 7\n")
    assert registry.resolve("model", "mine.things:Box", BUILT_IN).lid == 7
    assert registry.resolve("model", "mine.things:Box.lid", BUILT_IN) == 7


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "ton",
            'model is "ton"; choose from one, two, or give your own as module:name. Did you mean "two"?',
        ),
        ("x:", "choose from one, two"),
        (":x", "choose from one, two"),
        ("a b:c", "choose from one, two"),
        ("a:b:c", "choose from one, two"),
        ("nowhere:x", "there is no module nowhere, neither in this folder nor installed"),
        ("good.nowhere:x", "there is no module good.nowhere"),
        ("good:Addtive", 'good has no Addtive. Did you mean "Additive"?'),
        ("good:Additive.lid", "Additive has no lid."),
        ("good:number.size", "good has no size."),
        ("broken:x", "broken.py, line 2: ZeroDivisionError: division by zero"),
        ("unwritten:x", "unwritten.py, line 1: SyntaxError"),
        ("needy:x", "needy cannot be imported: "),
        ("needy:x", "No module named 'not_there'"),
    ],
)
def test_a_name_that_leads_nowhere_is_one_sentence(here, name, message):
    (here / "good.py").write_text("class Additive: pass\nnumber = 5\n")
    (here / "broken.py").write_text("x = 1\ny = 1 / 0\n")
    (here / "unwritten.py").write_text("class :\n")
    (here / "needy.py").write_text("import not_there\n")
    with pytest.raises(InputError) as error:
        registry.resolve("model", name, BUILT_IN)
    assert message in str(error.value) and "\n" not in str(error.value)


def register(folder, group, lines):
    """As `pip install` leaves it: a package's metadata beside the package."""
    info = folder / "mypackage-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mypackage\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{lines}\n")


def test_an_installed_package_can_register_names(here, monkeypatch):
    with pytest.raises(InputError, match="choose from drrn"):
        Settings.from_flat(model="own")
    (here / "mypackage.py").write_text("from drrn.models.drrn import DRRN\nclass Own(DRRN): pass\n")
    register(
        here,
        "drrn.models",
        "own = mypackage:Own\nold = mypackage:gone\nodd = mypackage\ntable = mypackage:Own",
    )
    monkeypatch.syspath_prepend(here)
    assert Settings.from_flat(model="own").model.name == "own" and "mypackage" not in sys.modules
    assert model_class("own").__name__ == "Own"
    assert model_class("table").__name__ == "LookUpTable"  # a built-in name is ours
    with pytest.raises(InputError, match='Did you mean "own"'):
        Settings.from_flat(model="owm")
    with pytest.raises(InputError, match='model "old": mypackage has no gone'):
        model_class("old")
    with pytest.raises(InputError, match='model "odd": a package registers it as mypackage'):
        model_class("odd")


def test_what_is_no_model_or_no_interaction_is_refused(here):
    (here / "things.py").write_text("number = 5\nclass Thing: pass\ndef build(*_): pass\n")
    for name in ("things:number", "things:Thing", "things:build"):
        with pytest.raises(
            InputError, match=f'model "{name}": it must be a subclass of drrn.models.Model'
        ):
            model_class(name)
    for name in ("things:number", "things:Thing"):
        with pytest.raises(
            InputError, match=f'interaction "{name}": it must be an Interaction, or a function'
        ):
            interaction_of(name)
    assert isinstance(interaction_of("things:build"), Interaction)


# --- through the command line

OWN = '''
import torch
from drrn.models.drrn import DRRN
from drrn.models.drrn import Interaction, inner


class Own(DRRN):
    """The paper's, by another name."""


def halved(model, s, a):
    return 0.5 * inner(model, s, a)


def _prepare(model):
    model.add_weight("own scale", 1, 1)


scaled = Interaction(lambda model, s, a: model.weights["own scale"] * inner(model, s, a), _prepare)
'''
ASK = [
    "--state",
    "The sea is grey and the wind is north.",
    "--action",
    "Go out.",
    "--action",
    "Stay in.",
    "--json",
]


@pytest.mark.parametrize(
    "own",
    [
        ["--model", "own:Own"],
        ["--interaction", "own:halved"],
        ["--model", "own:Own", "--interaction", "own:scaled"],
    ],
    ids=" ".join,
)
def test_what_is_ones_own_is_trained_evaluated_asked_and_resumed(
    own, here, tale, capsys, monkeypatch
):
    (here / "own.py").write_text(OWN)
    assert train(tale, here / "whole", *own) == 0
    from drrn.runs.run import Run

    keep = Run.save

    def keep_and_stop(self, trainer):
        keep(self, trainer)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Run, "save", keep_and_stop)
        assert train(tale, here / "cut", *own) == 130
    assert main(resume_command(here / "cut")) == 0
    assert same_results(results_of(here / "cut"), results_of(here / "whole"))
    assert main(["evaluate", str(here / "cut"), "--episodes", "3"]) == 0
    capsys.readouterr()
    assert main(["ask", str(here / "cut"), *ASK]) == 0
    assert len(json.loads(capsys.readouterr().out)["Go out."]) == 2


def test_a_run_with_a_model_of_ones_own_opens_from_any_folder(here, tale, tmp_path_factory):
    (here / "own.py").write_text(OWN)
    assert train(tale, here / "run", "--model", "own:Own", "--rounds", "1") == 0
    command = [sys.executable, "-m", "drrn", "ask", str(here / "run"), *ASK]
    root = {"PYTHONPATH": str(Path(__file__).parents[1])}
    asked = subprocess.run(
        command,
        cwd=tmp_path_factory.mktemp("elsewhere"),
        env={**os.environ, **root},
        capture_output=True,
        text=True,
    )
    assert asked.returncode == 0, asked.stderr


def test_a_module_of_another_folder_is_not_taken_for_the_one_that_is_here(here, monkeypatch):
    for place in ("one", "two"):
        (here / place).mkdir()
        (here / place / "twins.py").write_text(f"name = {place!r}\n")
    assert registry.resolve("model", "twins:name", {}, str(here / "one")) == "one"
    with pytest.raises(
        InputError,
        match=r"twins was imported from .*one.twins.py, not from .*two; rename one of them",
    ):
        registry.resolve("model", "twins:name", {}, str(here / "two"))


def test_a_run_whose_module_is_not_there_any_more_is_one_sentence(here, tale, capsys, monkeypatch):
    (here / "own_once.py").write_text(OWN)
    assert train(tale, here / "run", "--model", "own_once:Own") == 0
    (here / "own_once.py").unlink()
    monkeypatch.delitem(sys.modules, "own_once")
    capsys.readouterr()
    assert main(["ask", str(here / "run"), *ASK]) == 2
    error = capsys.readouterr().err
    assert "there is no module own_once" in error and error.count("\n") == 1


def test_the_default_folder_of_a_run_has_no_colon_in_its_name(here, tale):
    (here / "own.py").write_text(OWN)
    small = "--model own:Own --updates 2 --rounds 1 --episodes-per-round 2 --evaluation-episodes 2 --replicas 1 --hidden 3"
    assert main(["train", str(tale), *small.split()]) == 0
    (folder,) = Path("runs").iterdir()
    assert folder.name.startswith("tale-own-Own-")


def test_a_model_of_ones_own_is_trained_from_python_too(here, tale):
    (here / "own.py").write_text(OWN)
    trainer = drrn.trainer(
        drrn.make(tale),
        model="own:Own",
        interaction="own:halved",
        hidden=4,
        rounds=1,
        updates=2,
        replicas=1,
    )
    assert isinstance(trainer.model, Model) and type(trainer.model).__name__ == "Own"
    assert len(list(trainer.train())) == 1
