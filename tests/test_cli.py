"""The real commands, with small numbers."""

import contextlib
import importlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

import drrn.cli
from drrn.settings import all_settings
from lab.experiments.plan import EXPERIMENTS, ON_REQUEST
from storytest.authored import EXPLORE_LIMIT
from storytest.twine.story_game import TwineGame
from tests.commands import main
from textgames import scores
from textgames.compiled.compile import LIMIT, MEMORY
from textgames.files import read_toml

TALE = """\
:: Start
<<set $n = prompt("Name?")>>Well, <<$n>>?

[[Up.|Up]]
[[Down.|Down]]

:: Up
The sky is yours now.

:: Down
It is dark. You stay there for good.

:: Attic
Nobody comes here.
"""


pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def tale(tmp_path):
    path = tmp_path / "tale.twee"
    path.write_text(TALE, encoding="utf-8")
    return path


def type_lines(monkeypatch, *lines):
    """Let a person type these lines; after the last, the terminal is closed."""
    remaining = iter(lines)

    def answer(*args, **kwargs):
        try:
            return next(remaining)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("rich.console.Console.input", answer)


def test_games_lists_names_titles_kinds_and_pages(capsys, shared_compile_cache):
    assert main(["games"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["name", "title", "kind", "pages"]
    rows = {line.split()[0]: line for line in lines[1:] if line}
    assert rows["long-watch"].split()[1:] == ["The", "Long", "Watch", "story", "101"]
    assert "Home World" in rows["home-world"] and "The Comet House" in rows["comet-house"]
    assert lines[-1].startswith("diagnostic:") and "memory" in lines[-1]


def test_random_play_prints_the_five_figures_as_json(capsys, tale):
    play = ["play", str(tale), "--policy", "random", "--episodes", "50", "--seed", "0", "--json"]
    assert main(play) == 0
    figures = json.loads(capsys.readouterr().out)
    keys = ["episodes", "mean_final_reward", "mean_return", "mean_steps", "endings"]
    assert list(figures) == keys
    assert figures["episodes"] == 50 and figures["mean_steps"] == 1
    assert sum(figures["endings"].values()) == 50 and set(figures["endings"]) == {"Up", "Down"}


def test_the_same_seed_prints_the_same_figures_and_another_does_not(capsys):
    def figures(seed):
        play = "play night-market --policy random --episodes 40 --json --seed".split()
        main([*play, seed])
        return capsys.readouterr().out

    assert figures("1") == figures("1") != figures("2")


def test_show_marks_the_choice_on_each_page(capsys, tale):
    main(["play", str(tale), "--policy", "random", "--episodes", "1", "--seed", "0", "--show"])
    out = capsys.readouterr().out
    assert "Well, Alex?" in out and "→" in out and "reward 0" in out


def test_show_prints_the_ending_of_every_game(capsys, tale):
    main(["play", str(tale), "--policy", "random", "--episodes", "3", "--seed", "0", "--show"])
    out = capsys.readouterr().out
    assert out.count("The sky is yours now.") + out.count("You stay there for good.") == 3
    assert out.count("  reward 0\n") == 3


def test_annotate_writes_a_toml_that_lists_every_ending_and_never_overwrites(capsys, tale):
    assert main(["annotate", str(tale)]) == 0
    toml = tale.with_suffix(".toml")
    text = toml.read_text(encoding="utf-8")
    assert "# … The sky is yours now." in text and "# … You stay there for good." in text
    assert '"n" = "Alex"' in text
    toml.write_text(text.replace("reward = 0", "reward = 4"), encoding="utf-8")
    assert main(["annotate", str(tale)]) == 2
    assert "not overwritten" in capsys.readouterr().err
    play = ["play", str(toml), "--policy", "random", "--episodes", "5", "--seed", "0", "--json"]
    assert main(play) == 0
    assert json.loads(capsys.readouterr().out)["mean_final_reward"] == 4


def test_inspect_prints_statistics_and_the_number_of_problems(capsys, tale):
    tale.write_text(TALE + "\n:: Cellar\n[[Out.|Nowhere]] <<wobble>>\n", encoding="utf-8")
    assert main(["inspect", str(tale)]) == 0
    out = capsys.readouterr().out
    for part in (
        "choice",
        "deterministic",
        "2 passages never reached; 2 problems",
        "the story asks for $n",
    ):
        assert part in out
    assert main(["test", str(tale)]) == 1
    output = capsys.readouterr().out
    for part in ("Attic", '"Nowhere"', "<<wobble>>"):
        assert part in output
    assert main(["inspect", str(tale), "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)
    assert (findings["statistics"]["pages"], findings["statistics"]["most_actions"]) == (3, 2)
    assert findings["complete"]
    assert [issue["passage"] for issue in findings["never_reached"]] == ["Attic", "Cellar"]
    assert [ending["rule"] for ending in findings["endings"]] == [None, None]


def test_inspect_prints_best_and_random_scores_and_the_odds_of_each_ending(capsys, tale):
    assert main(["inspect", str(tale), "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)
    assert findings["merged_states"] == 3 and findings["best"]["final_reward"]["mean"] == 0
    assert findings["memoryless"]["final_reward"]["mean"] == 0
    assert [ending["probability"]["mean"] for ending in findings["endings"]] == [0.5, 0.5]
    paths = sorted(ending["path"]["actions"] for ending in findings["endings"])
    assert paths == [["Down."], ["Up."]]
    assert main(["inspect", str(tale)]) == 0
    out = capsys.readouterr().out
    for part in ("random play", "50.0 %", "1 passage never reached: see drrn"):
        assert part in out
    assert "best play" not in out  # all endings pay the same


def test_inspect_marks_truncated_last_words(capsys, tale):
    last_words = "The sky is yours" + " and yours" * 9
    tale.write_text(TALE.replace("The sky is yours now.", last_words), encoding="utf-8")
    assert main(["inspect", str(tale)]) == 0
    assert re.search(r"The sky is.*… ", capsys.readouterr().out)


def test_inspect_samples_a_game_that_cannot_be_compiled_and_gives_the_reason(capsys, tmp_path):
    path = tmp_path / "mine.twee"
    path.write_text(
        ":: Start\n<<set $gold += 1>><<$gold>>\n\n[[Dig.|Start]]\n[[Go.|End]]\n\n:: End\nOver.\n"
    )
    assert main(["inspect", str(path), "--limit", "300", "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)
    assert findings["best"] is None and not findings["complete"] and findings["games"] > 1
    assert "$gold alone" in findings["why_not"]
    assert main(["inspect", str(path), "--limit", "300"]) == 0
    assert "mine cannot be compiled: it has more than 300 states" in capsys.readouterr().out
    assert main(["inspect", str(path), "--limit", "300", "--walkthrough"]) == 2
    assert "cannot be compiled" in capsys.readouterr().err


def test_walkthrough_prints_the_best_play(capsys, tale):
    toml = tale.with_suffix(".toml")
    toml.write_text('story = "tale.twee"\n[[ending]]\npassage = "Up"\nreward = 4\n')
    assert main(["inspect", str(toml), "--walkthrough"]) == 0
    out = capsys.readouterr().out
    for part in ("→ Up.", "The sky is yours now.", "final reward 4 after 1 step\n"):
        assert part in out
    assert main(["inspect", str(toml), "--walkthrough", "--json"]) == 0
    assert [step["action"] for step in json.loads(capsys.readouterr().out)] == ["Up.", None]


def test_the_map_is_written_as_svg(capsys, tale, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["inspect", str(tale), "--map", "map.png"]) == 2
    assert "map.png: a map is an SVG file" in capsys.readouterr().err
    assert main(["inspect", str(tale), "--map"]) == 0
    assert main(["inspect", str(tale), "--map", "map.svg"]) == 0
    for name in ("tale.svg", "map.svg"):
        assert "<svg" in Path(name).read_text(encoding="utf-8")


def test_the_map_does_not_overwrite_a_file(capsys, tale, tmp_path):
    (tmp_path / "map.svg").write_text("mine")
    assert main(["inspect", str(tale), "--map", str(tmp_path / "map.svg")]) == 2
    out, error = capsys.readouterr()
    assert out == "" and error.count("\n") == 1 and "map.svg: already exists" in error
    assert (tmp_path / "map.svg").read_text() == "mine"


def test_lenient_play_reports_skipped_macros(capsys, tale):
    tale.write_text(TALE.replace("Well,", "<<wobble>>Well,"), encoding="utf-8")
    play = ["play", str(tale), "--policy", "random", "--episodes", "1", "--seed", "0"]
    assert main(play) == 2
    assert 'passage "Start"): the macro <<wobble>> is not supported' in capsys.readouterr().err
    assert main([*play, "--lenient"]) == 0
    assert "skipped: line 2" in capsys.readouterr().err


def test_a_person_plays_and_the_score_is_saved(capsys, monkeypatch, tale, home):
    type_lines(monkeypatch, "?", "u", "9", "1", "n")
    assert main(["play", str(tale), "--seed", "0", "--player", "ada", "--no-shuffle"]) == 0
    out = capsys.readouterr().out
    assert "nothing to undo" in out and "Choose from 1 to 2" in out and "Final reward 0" in out
    type_lines(monkeypatch, "up", "y", "2")
    main(["play", str(tale), "--seed", "0", "--player", "ada", "--no-shuffle"])
    rows = (home / "scores.csv").read_text().splitlines()
    assert len(rows) == 4 and [row.split(",")[-1] for row in rows[1:]] == ["Up", "Up", "Down"]


def test_undo_goes_one_step_back_and_the_game_counts_as_practice(
    capsys, monkeypatch, tmp_path, home
):
    path = tmp_path / "walk.twee"
    path.write_text(
        ":: Start\nOne.\n\n[[On.|Two]]\n\n:: Two\nTwo.\n\n[[End it.|End]]\n\n:: End\nOver.\n"
    )
    type_lines(monkeypatch, "1", "u", "1", "1", "n")
    reset = mock.patch.object(TwineGame, "reset", autospec=True, side_effect=TwineGame.reset)
    with reset as resets:
        main(["play", str(path), "--player", "ada"])
    assert resets.call_count == 3  # for the title, at the start and to undo
    out = capsys.readouterr().out
    assert out.count("One.\n") == 2 and "as practice" in out
    assert scores.averages(scores.read(scores.scores_file()), "walk")["novice_games"] == 0


@pytest.mark.parametrize("again", ["y", "r"])
def test_after_the_end_the_game_starts_again(capsys, monkeypatch, tale, home, again):
    type_lines(monkeypatch, "1", again, "1")
    assert main(["play", str(tale), "--player", "ada"]) == 0
    out = capsys.readouterr().out
    assert out.count("in 1 step.\n") == 2 and out.endswith("\n\n")


def test_leaving_a_game_records_nothing(capsys, monkeypatch, tale, home):
    type_lines(monkeypatch, "q")
    assert main(["play", str(tale)]) == 0
    assert "no score was saved" in capsys.readouterr().out and not home.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["play", "no-such-game"],
        ["play", "long-watch", "--episodes", "5"],
        ["play", "long-watch", "--policy", "random", "--agent", "nosuch"],
        ["play", "long-watch", "--policy", "random", "--player", "Ada"],
        ["play", "long-watch", "--path", "clicks.txt", "--seed", "1"],
        ["play", "long-watch", "--policy", "random", "--episodes", "0"],
        ["play", "long-watch", "--paraphrased", "nonsense", "--policy", "random"],
        ["inspect", "missing.twee"],
        ["inspect", "long-watch", "--limit", "0"],
        ["annotate", "missing.html"],
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, arguments):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("drrn: ") and error.count("\n") == 1


def test_the_module_runs_without_optional_packages():
    missing = ["rich", "gymnasium", "sacrebleu", "torch", "shtab", "optuna"]
    play = "play long-watch --policy random --episodes 3 --json".split()
    code = f"""
import sys
sys.modules.update(dict.fromkeys({missing}))
from tests.commands import main
sys.exit(main(["games"]) or main({play}))
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert result.returncode == 0 and "night-market" in result.stdout
    assert json.loads(result.stdout.splitlines()[-1])["episodes"] == 3


def test_the_error_for_a_missing_package_names_the_installation(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    assert main(["play", "long-watch"]) == 2
    assert "pip install 'drrn[cli]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", ["", "games", "play", "train", "runs", "compare", "pull", "inspect", "annotate"]
)
def test_help_explains_each_command(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([*command.split(), "--help"])
    assert stop.value.code == 0 and len(capsys.readouterr().out) > 100


COMMANDS = read_toml(Path(drrn.cli.__file__).with_name("commands.toml"))["commands"]


def test_the_declared_commands_agree_with_the_library():
    assert COMMANDS["inspect"]["options"]["--limit"]["default"] == LIMIT
    assert COMMANDS["inspect"]["options"]["--memory"]["default"] == MEMORY
    assert COMMANDS["annotate"]["options"]["--limit"]["default"] == EXPLORE_LIMIT
    experiments = " ".join(COMMANDS["reproduce"]["description"].split())
    assert f"Experiments: {', '.join(EXPERIMENTS)}; the last seven run only" in experiments
    assert list(EXPERIMENTS)[-7:] == list(ON_REQUEST)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_declared_command_has_its_function(name):
    module, _, function = COMMANDS[name]["run"].partition(":")
    assert callable(getattr(importlib.import_module(module), function))


@pytest.mark.parametrize(
    "arguments",
    [["play", "a" * 5000], ["play", ""], ["play", "long-watch", "--json"], ["play", "x\0y"]],
    ids=["long", "empty", "json", "nul"],
)
def test_odd_names_and_options_are_one_sentence(arguments, capsys):
    assert main(arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("limit", ["0", "-5", "many"])
def test_a_limit_below_one_is_rejected(limit, capsys):
    assert main(["inspect", "long-watch", "--limit", limit]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_unusable_arguments_are_refused(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["serve", "--no-browser", "--runs", str(tmp_path / "file")]) == 2
    assert "not a folder" in capsys.readouterr().err
    assert main(["play", "long-watch", "--policy", "nonsense"]) == 2
    assert "'softmax'" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["runs", "."], ["games"], ["train", "--help"], ["trian"]])
def test_light_commands_do_not_import_pytorch(command, tmp_path):
    code = f"""
import sys
from drrn.cli import main
try:
    main({command})
except SystemExit:
    pass
assert not {{"torch", "matplotlib", "rich", "sqlite3"}} & set(sys.modules)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


def help_text(capsys, *words):
    with pytest.raises(SystemExit):
        main([*words])
    return capsys.readouterr().out


def test_the_help_lists_every_command_once_in_its_group(capsys):
    text = help_text(capsys, "--help")
    places = [text.index(f"\n{title}:\n") for title in ("Stories", "Agents", "Research")]
    assert places == sorted(places)
    for name, command in COMMANDS.items():
        assert text.count(f"\n  {name:<12} {command['help']}\n") == 1
    assert places[0] < text.index("\n  annotate") < places[1] < text.index("\n  watch") < places[2]
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_fits_into_80_columns(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = help_text(capsys, name, "--help").splitlines()
    assert [line for line in lines if len(line) > 80] == []


def test_the_help_of_train_has_a_dozen_options_and_help_all_has_every_setting(capsys):
    short = help_text(capsys, "train", "--help")
    common = COMMANDS["train"]["common"]
    listed = re.findall(r"^  (--[\w-]+)", short, re.M)
    assert listed == ["--help-all", *common] and "drrn train --resume" in short
    long = help_text(capsys, "train", "--help-all")
    for name in all_settings():
        assert f"\n  --{name.replace('_', '-')}" in long
    assert long.index("settings of the model") < long.index("settings of the run")
    assert long.index("settings of the run") < long.index("rarely needed") < long.index("--engine")


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        ("trian long-watch", '"train"'),
        ("train long-watch --ronds 5", '"--rounds"'),
        ("play long-watch --polcy=random", '"--policy"'),
    ],
)
def test_a_mistyped_word_is_answered_with_the_nearest_one(capsys, words, nearest):
    assert main(words.split()) == 2
    error = capsys.readouterr().err
    assert f"Did you mean {nearest}?" in error and error.count("\n") == 1


@pytest.fixture(scope="module")
def bash_completion():
    pytest.importorskip("shtab")
    with contextlib.redirect_stdout(io.StringIO()) as script:
        assert main(["completion", "bash"]) == 0
    return script.getvalue()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("drrn tr", ["train"]),
        ("drrn train long-watch --episodes-p", ["--episodes-per-round"]),
        ("drrn train long-watch --encoder g", ["gru"]),
        ("drrn play night", ["night-market"]),
        ("drrn completion z", ["zsh"]),
        ("drrn train ''", ["long-watch", "night-market", "home-world", "comet-house"]),
        ("drrn diagnose mem", ["memory"]),
        ("drrn report --out /et", ["/etc"]),
        ("drrn test /et", ["/etc"]),
    ],
)
def test_bash_completes_a_line(bash_completion, line, words):
    script = f"""{bash_completion}
COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_shtab_drrn drrn "${{COMP_WORDS[-1]}}" "${{COMP_WORDS[-2]}}"; echo "${{COMPREPLY[*]}}"
"""
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    completed = result.stdout.split()
    assert set(words) <= set(completed) and (words or not completed)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_script_of_another_shell_has_every_setting_and_no_error(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(name.replace("_", "-") in script for name in all_settings())
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_the_report_of_a_test_is_written_to_a_file(capsys, tale, tmp_path):
    for name, part in {"a.html": "<svg", "b.md": "# tale", "c.json": '"endings"'}.items():
        assert main(["test", str(tale), "--out", str(tmp_path / name)]) == 0
        assert part in (tmp_path / name).read_text(encoding="utf-8")
    out, error = capsys.readouterr()
    assert "2 endings" in out and "report: " in error
    for name in ("tale.twee", "report.pdf"):
        assert main(["test", str(tale), "--out", str(tmp_path / name)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert tale.read_text(encoding="utf-8") == TALE
