"""`drrn ask --attention` shows the words that carried a decision."""

import json

import pytest

import drrn
from drrn.cli import main
from tests.runs import train

STATE = "The sea is grey and the zeppelin is north."
ASK = ["--state", STATE, "--action", "Go out.", "--action", "Stay in."]


@pytest.mark.parametrize("more", [[], ["--shared"], ["--model", "per-action"]])
def test_the_words_that_carried_a_decision_are_shown_with_their_shares(
    tale, tmp_path, capsys, more
):
    train(tale, tmp_path / "run", "--encoder", "attention", *more)
    found = drrn.load(tmp_path / "run").attention(STATE, ["Go out.", "Stay in."])
    assert [
        word for word, _ in found[0].state
    ] == "the sea is grey and the is north".split()  # no zeppelin was met
    assert [word for word, _ in found[1].action] == ["stay", "in"]
    for shares in (found[0].state, found[1].state, found[0].action, found[1].action):
        assert sum(share for _, share in shares) == pytest.approx(1, abs=1e-5)
    capsys.readouterr()
    assert main(["ask", str(tmp_path / "run"), *ASK, "--attention", "--json"]) == 0
    asked = json.loads(capsys.readouterr().out)["Go out."]
    assert (
        asked["state"] == [[word, pytest.approx(share)] for word, share in found[0].state]
        and len(asked["q"]) == 2
    )
    assert main(["ask", str(tmp_path / "run"), *ASK, "--attention"]) == 0
    assert "Attention for: Stay in." in capsys.readouterr().out


def test_where_one_side_alone_has_attention_the_other_has_no_weights(tale, tmp_path):
    train(tale, tmp_path / "run", "--encoder", "gru", "--action-encoder", "attention")
    found = drrn.load(tmp_path / "run").attention(STATE, ["Go out."])[0]
    with pytest.raises(drrn.InputError, match="must be a list of texts"):
        drrn.load(tmp_path / "run").attention(STATE, "Go out.")
    assert found.state == [] and [word for word, _ in found.action] == ["go", "out"]


def test_a_run_without_attention_says_so_in_a_sentence(tale, tmp_path, capsys):
    train(tale, tmp_path / "run")
    capsys.readouterr()
    assert main(["ask", str(tmp_path / "run"), *ASK, "--attention"]) != 0
    assert "the run has no attention weights" in capsys.readouterr().err
