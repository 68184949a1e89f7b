"""The arena: exact regret, its relation to the return, measures, players, rows and the command."""

import json
import math
import runpy
import statistics
import time
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import textgames
from tests.source_code import ROOT
from textgames import registry
from textgames.compiled.oracle import solve_game
from textgames.diagnostics import DIAGNOSTICS
from textgames.errors import InputError
from textgames.game.episodes import Episode
from textgames.intervals import interval_of_mean
from textgames_arena.__main__ import main
from textgames_arena.llm import Options
from textgames_arena.match import Decision, Match, Result, read_answer
from textgames_arena.measures import measures, softmax_alpha
from textgames_arena.players import BestPlayer, Player, RandomPlayer, open_player
from textgames_arena.report import Report
from textgames_arena.tournament import Rows, play, read_all, specs_of

GAMES = ("long-watch", "home-world", "diagnostic:memory/1", "diagnostic:noisy-rewards/1")
OTHERS = (
    "night-market",
    "comet-house",
    *(f"diagnostic:{name}/1" for name in sorted({*DIAGNOSTICS} - {"memory", "noisy-rewards"})),
)


@pytest.fixture(scope="module")
def solved():
    games = {}

    def open_game(name):
        if name not in games:
            games[name] = solve_game(textgames.make(name))
        return games[name]

    return open_game


def play_random(game, seeds):
    return [RandomPlayer("random").play(game, seed) for seed in seeds]


@pytest.mark.parametrize(
    "name", [*GAMES, *(pytest.param(name, marks=pytest.mark.full) for name in OTHERS)]
)
def test_best_play_has_no_regret_and_random_play_has_the_exact_one(name, solved):
    game = solved(name)
    for seed in range(5):
        result = BestPlayer("best").play(game, seed)
        assert result.regret == 0
        assert all(decision.choice and decision.regret == 0 for decision in result.decisions)
    # A random player of a wide menu rarely finds the best action.
    results = play_random(game, range(200 if name.startswith("diagnostic") else 60))
    for values, expected in (
        ([result.regret for result in results], game.best - game.random),
        ([result.luck for result in results], 0.0),
    ):
        error = statistics.stdev(values) / math.sqrt(len(values))
        assert abs(statistics.fmean(values) - expected) <= 3 * error + 1e-6
    for result in results:
        total = game.best - result.regret + result.luck
        assert result.episode.total == pytest.approx(total, abs=1e-6)


@hypothesis_settings(max_examples=10, deadline=None)
@given(
    st.sampled_from(["long-watch", "diagnostic:grid/1", "diagnostic:memory/1"]),
    st.integers(0, 10**9),
    st.lists(
        st.one_of(st.none(), st.integers(-3, 99), st.text(max_size=5)), min_size=1, max_size=9
    ),
)
def test_for_any_answers_the_return_is_best_play_minus_regret_plus_luck(
    solved, name, seed, answers
):
    match = Match(solved(name))
    match.start(seed)
    turn = 0
    while not match.over:
        decision = match.decide(answers[turn % len(answers)])
        assert decision.regret >= 0 and min(decision.gaps) == 0
        turn += 1
    result = match.result()
    total = match.game.best - result.regret + result.luck
    assert result.episode.total == pytest.approx(total, abs=1e-6)


@pytest.mark.parametrize("name", ["memory", "grid", "sparse"])
def test_references_are_those_of_the_diagnostics(name, solved):
    game: Any = textgames.make(f"diagnostic:{name}/1")
    oracle = solved(game.name)
    assert oracle.best == pytest.approx(game.optimum)
    assert oracle.random == pytest.approx(game.random_score)


def test_a_paying_loop_has_values_within_the_step_limit(story):
    text = ":: Start\nA mill.\n\n[[Grind.|Start]]\n[[Leave.|End]]\n\n:: End\nDone.\n"
    rules = "step_reward = 1\nmax_steps = 4\n[[ending]]\npassage = 'End'\nreward = 2\n"
    game: Any = solve_game(story(text, rules))
    page = game.reset(0)
    # three times 1, then the ending's 2 with the step's 1, or 1 for a fourth round
    assert max(game.q_star()) == game.best
    values = dict(zip(page.actions, game.q_star(), strict=True))
    assert values["Grind."] > values["Leave."]
    for _ in range(3):
        game.step(game.game.slots.index(min(game.game.slots)))
    assert len(game.q_star()) == 2
    game.steps += 1
    assert list(game.q_star()) == []


# --- answers


@pytest.mark.parametrize(
    ("answer", "index"),
    [
        ("2", 1),
        (" 1.", 0),
        ("I would choose 2, because the sea is calm.", 1),
        ("**2**", 1),
        ("2. Row 3 miles.", 1),
        ("<think>1 or 3? No: 1.</think> 2", 1),
        ("row 3 miles", 1),
        ("You should wait for help.", 2),
        ("Wait", 0),
        ("0", None),
        ("-1", None),
        ("Either 1 or 2", None),
        ("", None),
        ("Swim.", None),
        ("1.5", None),
        ("9" * 5000, None),
        (f"{'9' * 5000}. Wait.", None),
    ],
)
def test_an_answer_is_a_number_or_words(answer, index):
    assert read_answer(answer, ["Wait.", "Row 3 miles.", "Wait for help."]) == index


@given(st.text(), st.lists(st.text(), min_size=1, max_size=5))
def test_no_answer_raises_an_exception(answer, actions):
    index = read_answer(answer, actions)
    assert index is None or 0 <= index < len(actions)


def test_an_unreadable_answer_is_a_random_action_and_is_marked(solved):
    match = Match(solved("long-watch"))
    match.start(0)
    assert not any(match.decide(answer).readable for answer in ("nonsense", None, 99))


# --- measures


def decisions_by_softmax(alpha, count, random):
    q = np.array([1.0, 0.5, 0.0])
    p = np.exp(alpha * q) / np.exp(alpha * q).sum()
    gaps = (0.0, 0.5, 1.0)
    return [Decision("p", "c", "b", gaps, gaps[i]) for i in random.choice(3, size=count, p=p)]


@pytest.mark.parametrize("alpha", [0.5, 2.0, 5.0])
def test_the_alpha_of_a_softmax_player_is_estimated(alpha):
    decisions = decisions_by_softmax(alpha, 20_000, np.random.default_rng(0))
    assert softmax_alpha(decisions) == pytest.approx(alpha, rel=0.1)


def test_alpha_is_infinite_without_regret_and_0_for_players_worse_than_random():
    assert softmax_alpha([Decision("p", "c", "b", (0.0, 1.0), 0.0)]) == math.inf
    assert softmax_alpha([Decision("p", "c", "b", (0.0, 1.0), 1.0)]) == 0
    assert softmax_alpha([]) == 0


@hypothesis_settings(max_examples=20)
@given(st.lists(st.floats(-100, 100), min_size=1, max_size=20))
def test_the_normalised_interval_is_the_bootstrap_interval_of_the_return(values):
    results = [Result(i, Episode(0.0, value, 1, None), 0.0, ()) for i, value in enumerate(values)]
    interval = measures(results, best=3.0, random=-1.0).normalised
    assert interval.mean == pytest.approx(25 * (statistics.fmean(values) + 1))
    ends = interval_of_mean(values) or (values[0], values[0])
    assert (interval.low, interval.high) == pytest.approx([25 * (end + 1) for end in ends])
    assert interval.low - 1e-6 <= interval.mean <= interval.high + 1e-6


# --- players and rows


def choose_last(text, actions, history):
    assert all(isinstance(page, str) and isinstance(action, str) for page, action in history)
    return len(actions) - 1


def say_first(text, actions, history):
    return actions[0]


def test_functions_are_players(solved, tmp_path, monkeypatch):
    options = Options(tmp_path)
    names = ("choose_last", "say_first")
    monkeypatch.setenv(
        registry.TRUSTED, " ".join(f"packages.arena.tests.test_arena:{name}" for name in names)
    )
    for name in names:
        player = open_player(f"mine=packages.arena.tests.test_arena:{name}", options)
        assert player.name == "mine"
        result = player.play(solved("long-watch"), 0)
        assert all(decision.readable for decision in result.decisions)


def choose_wrongly(text, actions, history):
    indices: dict[str, int] = {}
    return indices["no such key"]


def test_a_function_that_fails_is_one_sentence(solved, tmp_path, monkeypatch):
    name = "packages.arena.tests.test_arena:choose_wrongly"
    monkeypatch.setenv(registry.TRUSTED, name)
    player = open_player(f"mine={name}", Options(tmp_path))
    with pytest.raises(InputError, match=r"player mine: .*test_arena.py, line \d+: KeyError"):
        player.play(solved("long-watch"), 0)


def open_first(text):
    return {"text": text}, lambda seed: lambda page: seed % len(page.actions)


def test_another_package_adds_a_kind_of_player(solved, tmp_path, monkeypatch):
    value = "packages.arena.tests.test_arena:open_first"
    point = EntryPoint("numbered", value, "textgames.players")
    game = solved("long-watch")
    monkeypatch.setattr(registry, "registered", lambda kind: {"numbered": point})
    player = open_player("mine=numbered:some text", Options(tmp_path))
    assert (player.name, player.settings) == ("mine", {"text": "some text"})
    page = Match(game).start(1)
    assert player.play(game, 1).decisions[0].choice == page.actions[1 % len(page.actions)]


@pytest.mark.parametrize("name", ["agent:", "bests", "llm:x", "no.module:thing"])
def test_an_unknown_player_is_one_sentence(name, tmp_path):
    with pytest.raises(InputError):
        open_player(name, Options(tmp_path))


def test_rows_are_read_as_they_were_written_and_continued(solved, tmp_path):
    (spec,) = specs_of("long-watch", None)
    game = solved("long-watch")
    player = RandomPlayer("random")
    assert len(play(spec, game, player, range(3), tmp_path)) == 3
    (rows,) = read_all(tmp_path)
    again = play_random(game, range(3))
    for result, expected in zip(rows.results, again, strict=True):
        assert result.regret == pytest.approx(expected.regret)
        assert [d.choice for d in result.decisions] == [d.choice for d in expected.decisions]
        assert [sorted(d.gaps) for d in result.decisions] == [
            pytest.approx(sorted(d.gaps)) for d in expected.decisions
        ]
    with rows.path.open("a") as file:
        file.write('{"seed": 3, "fin')  # the process was killed
    assert len(play(spec, game, player, range(5), tmp_path)) == 2
    (rows,) = read_all(tmp_path)
    assert [result.seed for result in rows.results] == list(range(5))


def test_rows_of_other_settings_are_not_continued(solved, tmp_path):
    (spec,) = specs_of("long-watch", None)
    game = solved("long-watch")
    play(spec, game, RandomPlayer("x"), range(1), tmp_path)
    with pytest.raises(InputError, match="settings"):
        play(spec, game, RandomPlayer("x", temperature=1), range(1), tmp_path)


def test_rows_may_contain_any_line_separator(tmp_path):
    mark = "\u2028\u2029\u0085"
    decision = Decision(f"page{mark}1", f"go{mark}on", "stay", (0.0, 1.0), 1.0)
    result = Result(0, Episode(1.0, 1.0, 1, f"end{mark}"), 0.0, (decision,))
    header = {"game": f"g{mark}", "player": "x", "words": ""}
    Rows.open(tmp_path, header).add(result)
    assert Rows.open(tmp_path, header).results == [result]


class WaitingPlayer(Player):
    """Plays the match of seed 0 after a row of seed 1 was written; the match of seed 2 fails."""

    concurrency = 2

    def __init__(self, folder):
        super().__init__("waiting")
        self.folder = folder

    def choose(self, match):
        if match.seed == 2:
            raise InputError("seed 2")
        for _ in range(6000):
            if match.seed or read_all(self.folder):
                return 0
            time.sleep(0.01)
        raise AssertionError("the row of seed 1 was not written")


def test_a_row_is_written_when_its_match_is_over_and_an_error_stops_the_others(solved, tmp_path):
    (spec,) = specs_of("long-watch", None)
    game = solved("long-watch")
    player = WaitingPlayer(tmp_path)
    assert [result.seed for result in play(spec, game, player, range(2), tmp_path)] == [0, 1]
    (rows,) = read_all(tmp_path)
    assert [result.seed for result in rows.results] == [0, 1]
    lines = rows.path.read_text().split("\n")[1:-1]
    assert [json.loads(line)["seed"] for line in lines] == [1, 0]
    with pytest.raises(InputError, match="seed 2"):
        play(spec, game, player, [1, 2, 3], tmp_path)
    assert player.play(game, 1).seed == 1  # it plays on


def test_damaged_rows_are_one_sentence(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"game": "x"}\n[]\n')
    with pytest.raises(InputError, match="damaged"):
        Rows.read(path)


def test_other_texts_can_be_written_in_place_of_those_of_the_game(solved, tmp_path):
    (spec,) = specs_of("long-watch", None)
    game = solved("long-watch")
    play(spec, game, RandomPlayer("random"), range(3), tmp_path, hide=str.swapcase)
    (rows,) = read_all(tmp_path)
    for result, expected in zip(rows.results, play_random(game, range(3)), strict=True):
        assert result.episode.ending == str.swapcase(expected.episode.ending)
        for row, decision in zip(result.decisions, expected.decisions, strict=True):
            assert row.choice == str.swapcase(decision.choice)
            assert not {decision.choice, decision.best, decision.page} & set(rows.texts)


# --- the command


def test_the_command_writes_rows_a_table_and_a_page(tmp_path, capsys):
    out = tmp_path / "out"
    command = ["arena", "long-watch", "--episodes", "3", "--paraphrased", "--out", str(out)]
    assert (
        main([*command, "--player", "random", "last=packages.arena.tests.test_arena:choose_last"])
        == 0
    )
    printed = capsys.readouterr().out
    assert "long-watch" in printed and "last" in printed
    page = (out / "arena.html").read_text()
    for part in ("costliest mistakes", "In other words", "<svg", "retold"):
        assert part in page
    lines = (out / "summary.csv").read_text().splitlines()
    assert len(lines) == 1 + 2 * 3  # the original and two sets of words
    assert main(["arena", "--report", "--out", str(out)]) == 0
    assert (out / "arena.html").read_text() == page


def test_references_are_the_first_and_last_players_and_no_table_is_empty(tmp_path):
    command = ["arena", "long-watch", "--episodes", "2", "--paraphrased", "--out", str(tmp_path)]
    assert main([*command, "--player", "best", "random"]) == 0
    page = (tmp_path / "arena.html").read_text()
    assert "retold" in page and "<tbody>\n</tbody>" not in page
    assert main([*command, "--player", "zebra=random"]) == 0
    assert Report(read_all(tmp_path)).players == ["random", "zebra", "best"]


@pytest.mark.parametrize(
    ("words", "fact"),
    [
        ("tests.sample_games:Coin", "Coin"),
        ("", "game"),
        ("long-watch --player random random", "random"),
        ("home-world --paraphrased retold", "no paraphrases"),
        ("home-world --paraphrased", "no paraphrases"),
        ("long-watch --paraphrased retld", "reworded, retold"),
    ],
)
def test_bad_input_is_one_sentence(words, fact, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["arena", *words.split(), "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert fact in error and error.count("\n") == 1 and not out.exists()


@pytest.mark.full
def test_an_example_learns_more_from_the_advantage_than_from_the_games_rewards():
    path = ROOT / "examples/two_rewards.py"
    example = runpy.run_path(str(path))
    arguments = ["--game", "diagnostic:grid/1", "--episodes", "60", "--seeds", "2"]
    final = example["main"]([*arguments, "--points", "1"])
    assert final["game"] + 10 < final["advantage"] <= 100
