"""The registry: module:name, entry points, and users' models and interactions."""

import json
import os
import subprocess
import sys

import pytest

from drrn.models import model_class
from drrn.models.drrn import Interaction, interaction_of
from drrn.settings import Settings
from tests.commands import main
from tests.runs import interrupted_saves, results_of, resume_command, same_results, train
from textgames import registry
from textgames.errors import InputError

BUILT_IN = {"one": 1, "two": 2}


def resolve(kind, name, *rest):
    """Resolve a name that the user trusts."""
    registry.trust(name)
    return registry.resolve(kind, name, *rest)


def test_module_and_attribute_are_imported_from_the_current_folder(import_folder):
    (import_folder / "mine").mkdir()
    (import_folder / "mine/things.py").write_text("class Box:\n    lid = 7\n")
    assert resolve("model", "mine.things:Box", BUILT_IN).lid == 7
    assert resolve("model", "mine.things:Box.lid", BUILT_IN) == 7


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "ton",
            'model is "ton"; choose from one, two, or give your own as module:name. Did you mean "two"?',
        ),
        ("a b:c", "choose from one, two"),
        ("nowhere:x", "there is no module nowhere, neither in this folder nor installed"),
        ("good.nowhere:x", "there is no module good.nowhere"),
        ("good:Addtive", 'good has no Addtive. Did you mean "Additive"?'),
        ("good:Additive.lid", "Additive has no lid."),
        ("good:number.size", "int has no size."),
        ("broken:x", "broken.py, line 2: ZeroDivisionError: division by zero"),
        ("unwritten:x", "unwritten.py, line 1: SyntaxError"),
        ("needy:x", "needy cannot be imported: "),
        ("needy:x", "No module named 'not_there'"),
    ],
)
def test_the_error_for_a_name_that_cannot_be_resolved_is_one_sentence(import_folder, name, message):
    (import_folder / "good.py").write_text("class Additive: pass\nnumber = 5\n")
    (import_folder / "broken.py").write_text("x = 1\ny = 1 / 0\n")
    (import_folder / "unwritten.py").write_text("class :\n")
    (import_folder / "needy.py").write_text("import not_there\n")
    with pytest.raises(InputError) as error:
        resolve("model", name, BUILT_IN)
    assert message in str(error.value) and "\n" not in str(error.value)


def register(folder, group, lines):
    """Write the metadata of a package as `pip install` does."""
    info = folder / "mypackage-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mypackage\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{lines}\n")


def test_an_installed_package_can_register_names(import_folder, monkeypatch):
    with pytest.raises(InputError, match="choose from drrn"):
        Settings.from_flat(model="own")
    (import_folder / "mypackage.py").write_text(
        "from drrn.models.drrn import DRRN\nclass Own(DRRN): pass\n"
    )
    register(
        import_folder,
        "drrn.models",
        "own = mypackage:Own\nold = mypackage:gone\nodd = mypackage\ntable = mypackage:Own",
    )
    monkeypatch.syspath_prepend(import_folder)
    assert Settings.from_flat(model="own").model.name == "own" and "mypackage" not in sys.modules
    assert model_class("own").__name__ == "Own"
    assert model_class("table").__name__ == "LookUpTable"  # a built-in name is ours
    with pytest.raises(InputError, match='Did you mean "own"'):
        Settings.from_flat(model="owm")
    with pytest.raises(InputError, match='model "old": mypackage has no gone'):
        model_class("old")
    with pytest.raises(InputError, match='model "odd": a package registers it as mypackage'):
        model_class("odd")


def test_objects_that_are_not_models_or_interactions_are_rejected(import_folder):
    registry.trust("things:number", "things:Thing", "things:build")
    (import_folder / "things.py").write_text("number = 5\nclass Thing: pass\ndef build(*_): pass\n")
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
    """The paper's model by another name."""


def halved(model, s, a):
    return 0.5 * inner(model, s, a)


def _prepare(model):
    model.add_weight("own scale", 1, 1)


scaled = Interaction(lambda model, s, a: model.weights["own scale"] * inner(model, s, a), _prepare)
'''
STATE = "The sea is grey and the wind is north."
ASK = ["--state", STATE, "--action", "Go out.", "--action", "Stay in.", "--json"]


@pytest.mark.parametrize(
    "own",
    [["--interaction", "own:halved"], ["--model", "own:Own", "--interaction", "own:scaled"]],
    ids=" ".join,
)
def test_a_users_model_is_trained_resumed_evaluated_and_asked(
    own, import_folder, tale, capsys, monkeypatch
):
    (import_folder / "own.py").write_text(OWN)
    assert train(tale, import_folder / "whole", *own) == 0
    with interrupted_saves(monkeypatch):
        assert train(tale, import_folder / "cut", *own) == 130
    assert main(resume_command(import_folder / "cut")) == 0
    assert same_results(results_of(import_folder / "cut"), results_of(import_folder / "whole"))
    assert main(["evaluate", str(import_folder / "cut"), "--episodes", "3"]) == 0
    capsys.readouterr()
    assert main(["ask", str(import_folder / "cut"), *ASK]) == 0
    assert len(json.loads(capsys.readouterr().out)["Go out."]) == 2


def test_a_run_with_a_users_model_opens_from_any_folder(import_folder, tale, tmp_path_factory):
    (import_folder / "own.py").write_text(OWN)
    assert train(tale, import_folder / "run", "--model", "own:Own", "--rounds", "1") == 0
    command = [sys.executable, "-m", "drrn", "ask", str(import_folder / "run"), *ASK]
    root = {"PYTHONPATH": os.pathsep.join(sys.path)}
    folder = tmp_path_factory.mktemp("elsewhere")
    environment = {**os.environ, **root}
    process = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr


def test_a_module_imported_from_another_folder_is_an_error(import_folder, monkeypatch):
    for folder in ("one", "two"):
        (import_folder / folder).mkdir()
        (import_folder / folder / "twins.py").write_text(f"name = {folder!r}\n")
    assert resolve("model", "twins:name", {}, str(import_folder / "one")) == "one"
    with pytest.raises(
        InputError,
        match=r"twins was imported from .*one.twins.py, not from .*two; rename one of them",
    ):
        resolve("model", "twins:name", {}, str(import_folder / "two"))


def test_the_error_for_a_run_whose_module_was_deleted_is_one_sentence(
    import_folder, tale, capsys, monkeypatch
):
    (import_folder / "own_once.py").write_text(OWN)
    assert train(tale, import_folder / "run", "--model", "own_once:Own") == 0
    (import_folder / "own_once.py").unlink()
    monkeypatch.delitem(sys.modules, "own_once")
    capsys.readouterr()
    assert main(["ask", str(import_folder / "run"), *ASK]) == 2
    error = capsys.readouterr().err
    assert "there is no module own_once" in error and error.count("\n") == 1
