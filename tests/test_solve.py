"""Exact scores, against games worked out by hand and against brute force over random small stories."""

import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import drrn
from drrn.compiled import chain
from drrn.compiled.chain import (
    Chain,
    series,
    softmax_of_slots,
    solve_by_components,
    strong_components,
    uniform,
)
from drrn.compiled.memoryless import best_memoryless, fixed_point
from drrn.compiled.solve import best, one_slot, policy_score, policy_value, random_play


def compiled(game):
    return drrn.compile_game(game, cache=False)


def rules(step=0.0, **rewards):
    endings = (
        f'[[ending]]\npassage = "{passage}"\nreward = {reward}\n'
        for passage, reward in rewards.items()
    )
    return f"step_reward = {step}\n" + "".join(endings)


FORK = (
    ":: Start\n[[Left]]\n[[Right]]\n\n:: Left\nL.\n\n[[Good]]\n[[Bad]]\n\n:: Right\n[[Bad]]\n\n"
    ":: Good\nG.\n\n:: Bad\nB.\n"
)


def test_a_fork_is_worth_its_best_branch_and_on_average_the_mean(story):
    game = compiled(story(FORK, rules(step=-1, Good=8, Bad=-8)))
    assert (
        best(game).score == 8
        and best(game, 1.0).score == 7
        and best(game, 0.5).score == -1 + 0.5 * 8
    )
    chance = random_play(game)
    assert (chance.final_reward, chance.total, chance.steps) == (-4, -5, 2)
    assert dict(zip((e.passage for e in game.endings), chance.endings, strict=True)) == {
        "Good": 0.25,
        "Bad": 0.75,
    }


LOTTERY = (
    ":: Start\n[[Draw.|Draw]]\n[[Leave.|Home]]\n\n"
    ":: Draw\n<<if random(1, 3) eq 1>>[[Take.|Won]]<<else>>[[Again.|Start]]<<endif>>\n\n:: Won\nW.\n\n:: Home\nH.\n"
)


def test_a_lottery_that_can_be_drawn_again_is_worth_its_prize(story):
    game = compiled(story(LOTTERY, rules(step=-1, Won=20, Home=0)))
    assert best(game).score == pytest.approx(20, abs=1e-9)
    # v = -1 + 1/3 · 20 + 2/3 · (-1 + v), so v = 15
    assert best(game, 1.0).score == pytest.approx(15, abs=1e-9)
    # by chance v = 1/2 · 0 + 1/2 · (1/3 · 20 + 2/3 · v), so v = 5
    assert random_play(game).final_reward == pytest.approx(5, abs=1e-9)


GAMBLE = (
    ":: Start\n[[Wait.|Start]]\n[[Risk.|Risk]]\n\n:: Risk\n<<if random(1, 2) eq 1>>[[Win]]<<else>>[[One]]<<endif>>\n\n"
    ":: One\n1\n\n[[Two]]\n\n:: Two\n2\n\n[[Lose]]\n\n:: Win\nW.\n\n:: Lose\nL.\n"
)


def test_waiting_for_ever_is_worth_nothing_and_puts_off_no_bad_ending(story):
    # With n steps to go, to wait and risk at the last moment would seem to win 5: what is lost comes too late.
    game = compiled(story(GAMBLE, rules(Win=10, Lose=-20)))
    solution = best(game)
    assert solution.score == 0 and policy_value(game, one_slot(game, solution.slot)) == 0
    assert best(game, 1.0).score == 0
    assert best(compiled(story(GAMBLE, rules(Win=30, Lose=-20)))).score == pytest.approx(5)


def test_with_each_step_costing_something_one_must_end_at_last(story):
    game = compiled(story(GAMBLE, rules(step=-1, Win=10, Lose=-20)))
    assert best(game, 1.0).score == pytest.approx(-1 + 10 / 2 + (-1 - 1 - 20) / 2)


TRAP = (
    ":: Start\n[[Out.|End]]\n[[Fall.|Pit]]\n\n:: Pit\nA pit.\n\n[[Shout.|Pit]]\n\n:: End\nOver.\n"
)


def test_a_trap_pays_nothing_for_ever_or_costs_without_bound(story):
    free = compiled(story(TRAP, rules(End=6)))
    assert (random_play(free).final_reward, random_play(free).total, random_play(free).trapped) == (
        3,
        3,
        0.5,
    )
    assert best(free).score == 6 and random_play(free).steps == math.inf
    costly = compiled(story(TRAP, rules(step=-1, End=6)))
    assert random_play(costly).total == -math.inf and best(costly, 1.0).score == 6
    pit = next(s for s in range(len(costly)) if costly.texts[costly.text[s]] == "A pit.")
    assert best(costly, 1.0).value[pit] == -math.inf and best(costly).value[pit] == 0
    assert random_play(costly, max_steps=3).total == pytest.approx(0.5 * 6 - 0.5 * 3)


def test_a_loop_that_pays_is_refused_without_a_discount(story):
    game = compiled(
        story(":: Start\n[[Round.|Start]]\n[[Out.|End]]\n\n:: End\nOver.\n", rules(step=1, End=0))
    )
    with pytest.raises(drrn.InputError, match="discount below 1"):
        best(game, 1.0)
    assert best(game, 0.5).score == pytest.approx(2)


HIDDEN = (
    ":: Start\n<<set $key = either(0, 1)>>You forget at once what you have.\n\n[[On.|Door]]\n\n:: Door\nA door.\n\n"
    "<<if $key>>[[Left.|Good]]\n[[Right.|Bad]]<<else>>[[Left.|Bad]]\n[[Right.|Good]]<<endif>>\n\n"
    ":: Good\nG.\n\n:: Bad\nB.\n"
)


def test_a_memoryless_policy_loses_half_by_a_hidden_key(story):
    game = compiled(story(HIDDEN, rules(Good=10, Bad=0)))
    assert best(game).score == 10
    assert best_memoryless(game).score == pytest.approx(5)
    shown = compiled(story(HIDDEN.replace("A door.", "A door. <<$key>>"), rules(Good=10, Bad=0)))
    assert best_memoryless(shown).score == pytest.approx(10)


GUN = (
    ":: Start\n[[Take it.|Take]]\n[[Leave it.|Bar]]\n\n:: Take\n<<set $gun = 1>><<display 'Bar'>>\n\n"
    ":: Bar\nA bar.\n\n<<if $gun>>[[Go in.|Bad]]<<else>>[[Go in.|Good]]<<endif>>\n\n:: Good\nG.\n\n:: Bad\nB.\n"
)


@pytest.mark.parametrize("start", [None, 1, 2])
def test_one_step_targets_come_to_rest_where_nothing_tells_what_was_done_and_more_steps_see_it(
    story, start
):
    game = compiled(story(GUN, rules(Good=10, Bad=-10)))
    begin = None if start is None else np.random.default_rng(start)
    one = fixed_point(game, 0.1, 0.9, 500, start=begin)
    # the bar is worth the mean of 10 and -10 as it is met; both ways there are worth 0.9 of that, and so alike
    assert one.final_reward == pytest.approx(0, abs=0.01) and one.q == pytest.approx(0, abs=0.1)
    two = fixed_point(game, 0.1, 0.9, 500, n_steps=2, start=begin)
    # taking it is worth 0.9 · -10, leaving it 0.9 · 10: softmax leaves it with 1 / (1 + exp(-0.1 · 18))
    assert two.final_reward == pytest.approx(10 * math.tanh(0.1 * 9), abs=0.01)


TWICE = (
    ":: Start\nA door.\n\n[[Knock.|Wait]]\n<<if $again>>[[Go.|Great]]<<else>>[[Go.|Home]]<<endif>>\n\n"
    ":: Wait\n<<set $again = 1>>Nobody.\n\n[[Back.|Start]]\n\n:: Great\nG.\n\n:: Home\nH.\n"
)


def test_what_would_come_after_the_step_limit_is_never_learned(story):
    game = compiled(story(TWICE, rules(Great=10, Home=1)))
    actions = np.array(game.actions)[game.action]
    # after two steps play stands at the door again, and is stopped: that going then pays 10 is never met
    stopped = fixed_point(game, 0.5, 0.9, 2)
    assert stopped.q[actions == "Go."] == pytest.approx(1, abs=0.01)
    assert stopped.q[actions == "Knock."] == pytest.approx(0.81, abs=0.01)
    assert fixed_point(game, 0.5, 0.9, 3).q[actions == "Go."].min() > 2


def test_where_texts_tell_all_q_learning_comes_to_the_true_values():
    game = compiled(drrn.make("long-watch"))
    true = best(game, 0.9)
    assert fixed_point(game, 0.5, 0.9, 500).q == pytest.approx(true.q, abs=0.02)


def test_what_does_not_come_to_rest_in_time_has_none(monkeypatch):
    monkeypatch.setattr("drrn.compiled.memoryless.MAX_SWEEPS", 3)
    assert fixed_point(compiled(drrn.make("long-watch")), 0.5, 0.9, 500) is None


def test_a_softmax_of_q_values_is_scored_without_noise(story):
    game = compiled(story(FORK, rules(Good=8, Bad=-8)))
    q = np.where(np.array(game.actions)[game.action] == "Good", math.log(3), 0.0)
    policy = softmax_of_slots(game, q)
    assert policy_score(game, policy).final_reward == pytest.approx(
        0.5 * (8 * 0.75 - 8 * 0.25) + 0.5 * -8
    )
    assert policy_value(game, policy) == pytest.approx(-2) and policy_value(
        game, policy, 0.5
    ) == pytest.approx(-1)


def test_a_slow_loop_is_solved_where_its_series_would_take_for_ever():
    stay = 1 - 1e-7
    total = series(
        np.array([1.0, 0.0]), np.array([0, 0]), np.array([0, 1]), np.array([stay, 1 - stay])
    )
    assert total == pytest.approx([1e7, 1.0], rel=1e-6)


def test_components_feed_those_that_come_after(monkeypatch):
    source = np.array([0, 1, 1, 2, 3, 3])
    target = np.array([1, 0, 2, 3, 2, 4])
    component = strong_components(5, source, target)
    assert component[0] == component[1] < component[2] == component[3] < component[4]
    weight = np.full(6, 0.3)
    summed = series(np.arange(5.0), source, target, weight)
    monkeypatch.setattr(chain, "QUICK_TERMS", 0)  # no term is waited for: the equations are solved
    assert series(np.arange(5.0), source, target, weight) == pytest.approx(summed, rel=1e-9)


# --- random small stories, against brute force


@st.composite
def tales(draw):
    names = [f"P{i}" for i in range(draw(st.integers(2, 5)))]
    variable = st.sampled_from(["$x", "$y"])
    value = st.sampled_from(["0", "1", "either(0, 1)", "random(0, 2)", "1 - $x", "$y", "$x"])
    parts = []
    for name in ["Start", *names]:
        code = "".join(
            f"<<set {draw(variable)} = {draw(value)}>>" for _ in range(draw(st.integers(0, 2)))
        )
        said = draw(st.sampled_from([f"{name}.", "Somewhere.", f"{name} <<$x>>"]))
        links = []
        for _ in range(draw(st.integers(1, 3))):
            link = (
                f"[[{draw(st.sampled_from('abc'))}|{draw(st.sampled_from([*names, 'E1', 'E2']))}]]"
            )
            if draw(st.booleans()):
                link = f"<<if {draw(variable)} eq {draw(st.integers(0, 2))}>>{link}<<endif>>"
            links.append(link)
        parts.append(f":: {name}\n{code}{said}\n\n" + "\n".join([*links, "[[out|E1]]"]) + "\n")
    return "\n".join([*parts, ":: E1\nEnd <<$y>>.\n", ":: E2\nOther end.\n"])


def opened(tale):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tale.twee"
        path.write_text(tale, encoding="utf-8")
        path.with_suffix(".toml").write_text(
            f'story = "tale.twee"\n{rules(step=-0.5, E1=-3, E2=7)}', encoding="utf-8"
        )
        return drrn.make(path, shuffle=False)


def brute_force(game, discount):
    """Random and best return over all states with all their variables, by sweeps until nothing changes."""
    numbers = {}
    scenes = []
    ahead = []
    todo = []

    def number(scene, cells):
        key = (scene.face.text, scene.moves, scene.face.reward, tuple(sorted(cells.items())))
        if key not in numbers:
            numbers[key] = len(numbers)
            scenes.append(scene)
            todo.append((scene, cells))
        return numbers[key]

    def outcomes(move, cells):
        return [
            (p, number(scene, {**cells, **scene.writes}))
            for p, scene in game.renderer.outcomes(move, cells)
        ]

    start = outcomes(game.renderer.opening, {})
    while len(ahead) < len(todo):
        scene, cells = todo[len(ahead)]
        ahead.append([outcomes(move, cells) for move in scene.moves])
    mean = np.zeros(len(ahead))
    most = np.zeros(len(ahead))
    for _ in range(400):
        for state, actions in enumerate(ahead):
            if actions:
                q = [
                    [
                        sum(p * (scenes[s].face.reward + discount * v[s]) for p, s in a)
                        for a in actions
                    ]
                    for v in (mean, most)
                ]
                mean[state] = sum(q[0]) / len(actions)
                most[state] = max(q[1])
    return [sum(p * v[s] for p, s in start) for v in (mean, most)]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tales())
def test_compiled_values_are_those_of_brute_force_over_all_variables(tale):
    game = opened(tale)
    graph = compiled(game)
    mean, most = brute_force(game, 0.8)
    assert policy_value(graph, uniform(graph), 0.8) == pytest.approx(mean, abs=1e-7)
    assert best(graph, 0.8).score == pytest.approx(most, abs=1e-7)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tales(), st.integers(0, 9))
def test_no_policy_beats_the_best_and_the_best_policy_earns_it(tale, seed):
    graph = compiled(opened(tale))
    other = softmax_of_slots(graph, np.random.default_rng(seed).normal(size=len(graph.row)), 1.0)
    for discount in (None, 1.0, 0.9):
        solution = best(graph, discount)
        assert policy_value(graph, one_slot(graph, solution.slot), discount) == pytest.approx(
            solution.score, abs=1e-9
        )
        assert policy_value(graph, other, discount) <= solution.score + 1e-9
        assert best_memoryless(graph, discount).score <= solution.score + 1e-9
    chance = policy_score(graph, other)
    assert chance.endings.sum() + chance.trapped == pytest.approx(1)
    assert chance.total == pytest.approx(policy_value(graph, other, 1.0))
    assert Chain(graph, other).visits(100_000) == pytest.approx(
        Chain(graph, other).visits(), abs=1e-6
    )


def test_a_loop_that_is_left_once_in_twenty_thousand_tries_is_solved(story):
    twee = ":: Start\nHi.\n\n[[play|Try]]\n[[quit|Lose]]\n\n:: Win\nWon.\n\n:: Lose\nLost.\n\n"
    twee += ":: Try\n<<if random(1, 20000) is 1>>[[won|Win]]<<else>>No.\n\n[[again|Try]]\n[[quit|Lose]]<<endif>>\n"
    rules = "[[ending]]\npassage = 'Win'\nreward = 10\n[[ending]]\npassage = 'Lose'\nreward = -1\n"
    compiled = drrn.compile_game(story(twee, rules), cache=False)
    assert best(compiled).score == pytest.approx(10, abs=1e-8)
    assert best(compiled, 0.9999).score < 10


@pytest.mark.parametrize("discount", [-1.0, 1.5, float("nan")])
def test_a_discount_out_of_range_is_refused(story, discount):
    compiled = drrn.compile_game(story(":: Start\nHi.\n\n[[on]]\n\n:: on\nOn.\n"), cache=False)
    with pytest.raises(drrn.InputError, match="between 0 and 1"):
        best(compiled, discount)


def test_a_loop_that_is_hardly_ever_left_is_solved_and_one_that_is_never_left_has_an_answer():
    left = np.array([0.5, 1e-17])  # the chance of leaving: 1 - 1e-17 is 1 to a number's precision
    for chance in left:
        source = np.array([0, 1, 1])
        target = np.array([1, 0, 2])
        weight = np.array([1.0, 1.0 - chance, chance])
        total = solve_by_components(np.array([1.0, 0.0, 0.0]), source, target, weight)
        assert np.isfinite(total).all() and total[2] <= 1.0 + 1e-9
        assert chance < 0.1 or total[2] == pytest.approx(1.0)
