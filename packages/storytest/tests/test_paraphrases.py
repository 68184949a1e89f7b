"""Named sets of paraphrases in Python and on the command line; those of the built-in stories."""

import json

import pytest

import textgames
from drrn.runs.run import Run
from lab.experiments.job import hashes_of
from lab.experiments.statistics import distance, paraphrases_of
from tests.commands import main
from tests.runs import rehash, train
from tests.stories import FORK, REWARDS
from textgames.errors import InputError

PLAIN = ("Go out.", "Stay in.")
FIRST = ("Sail out.", "Wait in.")
SECOND = ("Leave the harbour.", "Remain at home.")
ONE = 'paraphrases = "first.tsv"\n'
TWO = 'paraphrases = { paraphrased = "first.tsv", reworded = "second.tsv" }\n'
OTHERS = 'paraphrases = { reworded = "second.tsv", old = "first.tsv" }\n'


@pytest.fixture
def opening_actions(story, tmp_path):
    """Function that returns the first actions of the small story with this TOML and set."""
    write_sets(tmp_path)
    return lambda toml, paraphrased: story(FORK, toml, paraphrased=paraphrased).reset(0).actions


@pytest.fixture
def tale(tmp_path):
    """Path of the small story with two sets."""
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
    ("toml", "paraphrased", "actions"),
    [
        (ONE, False, PLAIN),
        (ONE, True, FIRST),
        (TWO, True, FIRST),
        (TWO, "reworded", SECOND),
        ('paraphrases = { reworded = "second.tsv" }\n', True, SECOND),
        ('[paraphrases]\nreworded = "second.tsv"\n', "reworded", SECOND),
    ],
)
def test_a_set_is_chosen_by_name_and_true_selects_the_default_or_only_one(
    opening_actions, toml, paraphrased, actions
):
    assert opening_actions(toml, paraphrased) == actions


@pytest.mark.parametrize(
    ("toml", "paraphrased", "message"),
    [
        (
            TWO,
            "reword",
            'no paraphrases named "reword". Did you mean "reworded"? Known: paraphrased, reworded',
        ),
        (OTHERS, True, 'no paraphrases named "paraphrased". Known: reworded, old'),
        ("", "reworded", "no paraphrases; add paraphrases ="),
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
    ],
)
def test_the_error_for_a_set_that_does_not_exist_lists_the_others(
    opening_actions, toml, paraphrased, message
):
    with pytest.raises(InputError) as error:
        opening_actions(toml, paraphrased)
    text = str(error.value)
    assert message in text and "tale.toml" in text and "\n" not in text


def test_the_hash_of_results_covers_only_the_default_set():
    assert paraphrases_of(textgames.make("long-watch")) is None
    assert hashes_of(textgames.make("long-watch"))["paraphrases"] is None
    hashed = hashes_of(textgames.make("night-market"))["paraphrases"]
    assert hashed is not None and hashed.startswith("708bb5f4983a37f7")


@pytest.mark.parametrize(
    "name", ["long-watch", pytest.param("night-market", marks=pytest.mark.full)]
)
def test_every_action_of_a_built_in_story_has_a_distinct_rewording_of_other_words(name):
    actions = textgames.compile_game(textgames.make(name)).actions
    reworded = paraphrases_of(textgames.make(name), "reworded")
    assert reworded is not None and list(reworded) == list(actions)
    assert len({text.casefold() for text in reworded.values()}) == len(reworded)
    assert not set(reworded.values()) & set(actions)
    measured = distance(dict(reworded), actions)
    assert measured.oov_rate > 0.4
    assert measured.bleu is None or measured.bleu < 0.05  # None without sacrebleu


def test_evaluate_plays_the_chosen_set(tale, tmp_path, capsys):
    train(tale, tmp_path / "run")
    capsys.readouterr()
    evaluate = ["evaluate", str(tmp_path / "run"), "--exact", "--json"]
    rewards = []
    by_name = ["--paraphrased", "reworded"]
    for options in ([], ["--paraphrased"], by_name, [*by_name, "--game", str(tale)]):
        assert main([*evaluate, *options]) == 0
        rows = json.loads(capsys.readouterr().out)["replicas"]
        rewards.append([row["final_reward"] for row in rows])
    # other words have other Q-values
    assert rewards[0] != rewards[1] != rewards[2] != rewards[0]
    assert rewards[2] == rewards[3]
    assert main([*evaluate, "--paraphrased", "reword"]) == 2
    assert 'Did you mean "reworded"? Known: paraphrased, reworded' in capsys.readouterr().err


@pytest.mark.parametrize("before", [True, None])
def test_a_run_saved_before_sets_had_names_can_be_opened(tale, tmp_path, capsys, before):
    train(tale, tmp_path / "run")
    path = tmp_path / "run" / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    assert config["game"].pop("paraphrased") is False
    config["game"] |= {} if before is None else {"paraphrased": before}
    path.write_text(json.dumps(config), encoding="utf-8")
    rehash(tmp_path / "run")
    expected = FIRST if before else PLAIN
    assert set(Run(tmp_path / "run").open_game().reset(0).actions) == set(expected)
