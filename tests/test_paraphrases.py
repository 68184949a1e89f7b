"""Named sets of paraphrases: chosen by name, in Python and on the command line; and our stories said in other words."""

import json
from importlib.util import find_spec

import numpy as np
import pytest

import drrn
from drrn.cli import main
from drrn.errors import InputError
from drrn.game.make import BUILT_IN, spec_for
from drrn.lab.experiments.job import hashes_of
from drrn.runs.config import game_entry, spec_from
from drrn.runs.run import Run
from drrn.stories.authored import paraphrases_of
from drrn.stories.twine.rules import distance
from tests.runs import train
from tests.stories import FORK, REWARDS

PLAIN = ("Go out.", "Stay in.")
FIRST = ("Sail out.", "Wait in.")
SECOND = ("Leave the harbour.", "Remain at home.")
ONE = 'paraphrases = "first.tsv"\n'
TWO = 'paraphrases = { paraphrased = "first.tsv", reworded = "second.tsv" }\n'
OTHERS = 'paraphrases = { reworded = "second.tsv", old = "first.tsv" }\n'


@pytest.fixture
def said(story, tmp_path):
    """The opening actions of the small story, from a TOML and what `make` is asked for."""
    write_sets(tmp_path)
    return lambda toml, paraphrased: story(FORK, toml, paraphrased=paraphrased).reset(0).actions


@pytest.fixture
def tale(tmp_path):
    """The small story with two sets, as a path."""
    write_sets(tmp_path)
    (tmp_path / "tale.twee").write_text(FORK, encoding="utf-8")
    (tmp_path / "tale.toml").write_text(f'story = "tale.twee"\n{TWO}{REWARDS}', encoding="utf-8")
    return tmp_path / "tale.toml"


def write_sets(folder):
    for name, actions in (("first", FIRST), ("second", SECOND)):
        lines = [
            f"{original}\t{paraphrase}" for original, paraphrase in zip(PLAIN, actions, strict=True)
        ]
        (folder / f"{name}.tsv").write_text(
            "\n".join(["original\tparaphrase", *lines]), encoding="utf-8"
        )


@pytest.mark.parametrize(
    ("toml", "asked", "actions"),
    [
        (ONE, False, PLAIN), (ONE, True, FIRST), (ONE, "paraphrased", FIRST),
        (TWO, False, PLAIN), (TWO, True, FIRST), (TWO, "paraphrased", FIRST), (TWO, "reworded", SECOND),
        ('paraphrases = { reworded = "second.tsv" }\n', True, SECOND),
        ('[paraphrases]\nreworded = "second.tsv"\n', "reworded", SECOND),
    ],
)  # fmt: skip
def test_a_set_is_chosen_by_its_name_and_true_is_the_default_or_the_only_one(
    said, toml, asked, actions
):
    assert said(toml, asked) == actions


@pytest.mark.parametrize(
    ("toml", "asked", "message"),
    [
        (
            TWO,
            "reword",
            'no paraphrases named "reword". Did you mean "reworded"? Known: paraphrased, reworded',
        ),
        (TWO, "", 'no paraphrases named "". Known: paraphrased, reworded'),
        (ONE, "reworded", 'no paraphrases named "reworded". Known: paraphrased'),
        (OTHERS, True, 'no paraphrases named "paraphrased". Known: reworded, old'),
        ("", "reworded", "no paraphrases; add paraphrases ="),
        ("[paraphrases]\n", True, "no paraphrases; add paraphrases ="),
        (
            'paraphrases = { reworded = "none.tsv" }\n',
            False,
            'paraphrases.reworded names "none.tsv", which is not a',
        ),
        (
            "paraphrases = { reworded = 3 }\n",
            False,
            "paraphrases: reworded: must be text in quotes, not 3",
        ),
        ("paraphrases = 3\n", False, "paraphrases: must be a table, not 3"),
    ],
)
def test_a_set_that_is_not_there_is_one_sentence_with_those_that_are(said, toml, asked, message):
    with pytest.raises(InputError) as error:
        said(toml, asked)
    assert (
        message in str(error.value)
        and "tale.toml" in str(error.value)
        and "\n" not in str(error.value)
    )


def test_results_are_of_the_default_set_whatever_else_there_is():
    assert paraphrases_of(drrn.make("long-watch")) is None
    assert hashes_of(drrn.make("long-watch"))["paraphrases"] is None
    hashed = hashes_of(drrn.make("night-market"))["paraphrases"]
    assert hashed.startswith("708bb5f4983a37f7")


def test_a_set_by_name_plays_by_the_same_chances():
    plain, other = (
        drrn.compile_game(drrn.make("long-watch", paraphrased=p)) for p in (False, "reworded")
    )
    reworded = paraphrases_of(drrn.make("long-watch"), "reworded")
    assert other.texts == plain.texts and np.array_equal(other.page_action, plain.page_action)
    assert tuple(other.actions) == tuple(reworded[action] for action in plain.actions)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_action_of_our_stories_is_reworded_and_no_two_alike(name):
    actions = drrn.compile_game(drrn.make(name)).actions
    reworded = paraphrases_of(drrn.make(name), "reworded")
    assert list(reworded) == list(actions)
    assert len({said.casefold() for said in reworded.values()}) == len(reworded)
    assert not set(reworded.values()) & set(actions)


@pytest.mark.parametrize("name", BUILT_IN)
def test_more_than_two_words_in_five_of_a_rewording_are_new(name):
    assert reworded_distance(name).oov_rate > 0.4


@pytest.mark.skipif(
    find_spec("sacrebleu") is None, reason="BLEU needs sacrebleu: pip install 'drrn[paper]'"
)
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_rewording_shares_hardly_a_phrase_with_the_originals(name):
    assert reworded_distance(name).bleu < 0.05


def reworded_distance(name):
    game = drrn.make(name)
    return distance(paraphrases_of(game, "reworded"), drrn.compile_game(game).actions)


@pytest.mark.parametrize(
    ("options", "shown"),
    [([], PLAIN), (["--paraphrased"], FIRST), (["--paraphrased", "reworded"], SECOND)],
)
def test_play_shows_the_set_that_is_named(tale, capsys, options, shown):
    assert (
        main(["play", str(tale), *options, "--policy", "random", "--episodes", "1", "--show"]) == 0
    )
    out = capsys.readouterr().out
    assert tuple(action for action in (*PLAIN, *FIRST, *SECOND) if action in out) == shown


def test_evaluate_plays_the_set_that_is_named(tale, tmp_path, capsys):
    train(tale, tmp_path / "run")
    capsys.readouterr()
    evaluate = ["evaluate", str(tmp_path / "run"), "--exact", "--json"]
    found, by_name = [], ["--paraphrased", "reworded"]
    for options in ([], ["--paraphrased"], by_name, [*by_name, "--game", str(tale)]):
        assert main([*evaluate, *options]) == 0
        found.append(
            [row["final_reward"] for row in json.loads(capsys.readouterr().out)["replicas"]]
        )
    assert (
        found[0] != found[1] != found[2] != found[0]
    )  # other words, other Q-values, other chances
    assert found[2] == found[3]
    assert main([*evaluate, "--paraphrased", "reword"]) == 2
    assert 'Did you mean "reworded"? Known: paraphrased, reworded' in capsys.readouterr().err


@pytest.mark.parametrize("before", [True, False, None])
def test_a_run_that_was_kept_before_sets_had_names_opens_still(tale, tmp_path, capsys, before):
    train(tale, tmp_path / "run")
    path = tmp_path / "run" / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    assert config["game"].pop("paraphrased") is False
    config["game"] |= {} if before is None else {"paraphrased": before}
    path.write_text(json.dumps(config), encoding="utf-8")
    assert set(Run(tmp_path / "run").open_game().reset(0).actions) == set(
        FIRST if before else PLAIN
    )


def test_a_run_remembers_the_set_that_it_learned(tale, tmp_path):
    recipe = spec_for(tale, paraphrased="reworded")
    kept = json.loads(json.dumps({"game": game_entry(recipe.open(), recipe)}))
    assert spec_from(tmp_path, kept) == recipe


def test_inspect_measures_every_set_under_its_name(tale, capsys):
    assert main(["inspect", str(tale)]) == 0
    out = capsys.readouterr().out
    assert "Paraphrases, paraphrased  2 actions, OOV rate 50.0%" in out
    assert "Paraphrases, reworded     2 actions, OOV rate 100.0%" in out
    assert main(["inspect", str(tale), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["statistics"]["paraphrases"]) == ["paraphrased", "reworded"]
    assert found["statistics"]["paraphrases"]["paraphrased"]["pairs"] == 2


def test_inspect_gives_a_set_without_a_name_none(tale, capsys):
    tale.write_text(f'story = "tale.twee"\n{ONE}{REWARDS}', encoding="utf-8")
    assert main(["inspect", str(tale)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert " Paraphrases 2 actions, OOV rate 50.0%" in text
