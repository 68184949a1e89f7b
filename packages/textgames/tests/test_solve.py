"""Exact scores against values by hand and against brute force over random small stories."""

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import textgames
from textgames.compiled.chain import (
    Chain,
    series,
    softmax_of_slots,
    solve_by_components,
    solve_without_subtraction,
    strong_components,
    uniform,
)
from textgames.compiled.memoryless import fixed_point
from textgames.compiled.solve import best, one_slot, policy_score, policy_value, random_play


def compile_game(game):
    return textgames.compile_game(game, cache=False)


def converged(result):
    """Return a fixed point that exists."""
    assert result is not None
    return result


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


def test_best_and_random_scores_of_a_fork(story):
    game = compile_game(story(FORK, rules(step=-1, Good=8, Bad=-8)))
    assert best(game).score == 8
    assert best(game, 1.0).score == 7
    assert best(game, 0.5).score == -1 + 0.5 * 8
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


def test_a_lottery_that_can_be_repeated_has_the_value_of_its_prize(story):
    game = compile_game(story(LOTTERY, rules(step=-1, Won=20, Home=0)))
    assert best(game).score == pytest.approx(20, abs=1e-9)
    # v = -1 + 1/3 · 20 + 2/3 · (-1 + v), so v = 15
    assert best(game, 1.0).score == pytest.approx(15, abs=1e-9)
    # by chance v = 1/2 · 0 + 1/2 · (1/3 · 20 + 2/3 · v), so v = 5
    assert random_play(game).final_reward == pytest.approx(5, abs=1e-9)


GAMBLE = (
    ":: Start\n[[Wait.|Start]]\n[[Risk.|Risk]]\n\n:: Risk\n<<if random(1, 2) eq 1>>[[Win]]<<else>>[[One]]<<endif>>\n\n"
    ":: One\n1\n\n[[Two]]\n\n:: Two\n2\n\n[[Lose]]\n\n:: Win\nW.\n\n:: Lose\nL.\n"
)


def test_waiting_forever_has_value_0(story):
    # With n steps left, waiting and then taking the risk seems worth 5: the loss comes too late.
    game = compile_game(story(GAMBLE, rules(Win=10, Lose=-20)))
    solution = best(game)
    assert solution.score == 0 and policy_value(game, one_slot(game, solution.slot)) == 0
    assert best(game, 1.0).score == 0
    assert best(compile_game(story(GAMBLE, rules(Win=30, Lose=-20)))).score == pytest.approx(5)


def test_with_a_cost_per_step_the_best_policy_ends(story):
    game = compile_game(story(GAMBLE, rules(step=-1, Win=10, Lose=-20)))
    assert best(game, 1.0).score == pytest.approx(-1 + 10 / 2 + (-1 - 1 - 20) / 2)


TRAP = (
    ":: Start\n[[Out.|End]]\n[[Fall.|Pit]]\n\n:: Pit\nA pit.\n\n[[Shout.|Pit]]\n\n:: End\nOver.\n"
)


def test_a_trap_has_value_0_or_minus_infinity(story):
    free = compile_game(story(TRAP, rules(End=6)))
    chance = random_play(free)
    assert (chance.final_reward, chance.total, chance.trapped) == (3, 3, 0.5)
    assert best(free).score == 6 and chance.steps == math.inf
    costly = compile_game(story(TRAP, rules(step=-1, End=6)))
    assert random_play(costly).total == -math.inf and best(costly, 1.0).score == 6
    pit = next(s for s in range(len(costly)) if costly.texts[costly.text[s]] == "A pit.")
    assert best(costly, 1.0).value[pit] == -math.inf and best(costly).value[pit] == 0
    assert random_play(costly, max_steps=3).total == pytest.approx(0.5 * 6 - 0.5 * 3)


def test_a_loop_with_a_positive_reward_needs_a_discount(story):
    game = compile_game(
        story(":: Start\n[[Round.|Start]]\n[[Out.|End]]\n\n:: End\nOver.\n", rules(step=1, End=0))
    )
    with pytest.raises(textgames.InputError, match="discount below 1"):
        best(game, 1.0)
    assert best(game, 0.5).score == pytest.approx(2)


GUN = (
    ":: Start\n[[Take it.|Take]]\n[[Leave it.|Bar]]\n\n:: Take\n<<set $gun = 1>><<display 'Bar'>>\n\n"
    ":: Bar\nA bar.\n\n<<if $gun>>[[Go in.|Bad]]<<else>>[[Go in.|Good]]<<endif>>\n\n:: Good\nG.\n\n:: Bad\nB.\n"
)


@pytest.mark.parametrize("start", [None, 1, 2])
def test_one_step_targets_cannot_credit_an_action_that_the_page_does_not_show(story, start):
    game = compile_game(story(GUN, rules(Good=10, Bad=-10)))
    generator = None if start is None else np.random.default_rng(start)
    one = converged(fixed_point(game, 0.1, 0.9, 500, start=generator))
    # the bar has the mean of 10 and -10, so both actions before it have the same value
    assert one.final_reward == pytest.approx(0, abs=0.01) and one.q == pytest.approx(0, abs=0.1)
    two = converged(fixed_point(game, 0.1, 0.9, 500, n_steps=2, start=generator))
    # take: 0.9 · -10, leave: 0.9 · 10; softmax leaves it with probability 1 / (1 + exp(-0.1 · 18))
    assert two.final_reward == pytest.approx(10 * math.tanh(0.1 * 9), abs=0.01)


TWICE = (
    ":: Start\nA door.\n\n[[Knock.|Wait]]\n<<if $again>>[[Go.|Great]]<<else>>[[Go.|Home]]<<endif>>\n\n"
    ":: Wait\n<<set $again = 1>>Nobody.\n\n[[Back.|Start]]\n\n:: Great\nG.\n\n:: Home\nH.\n"
)


def test_rewards_after_the_step_limit_do_not_count(story):
    game = compile_game(story(TWICE, rules(Great=10, Home=1)))
    actions = np.array(game.actions)[game.action]
    # after two steps play is at the door again and is truncated: the reward of 10 is not reached
    truncated = converged(fixed_point(game, 0.5, 0.9, 2))
    assert truncated.q[actions == "Go."] == pytest.approx(1, abs=0.01)
    assert truncated.q[actions == "Knock."] == pytest.approx(0.81, abs=0.01)
    assert converged(fixed_point(game, 0.5, 0.9, 3)).q[actions == "Go."].min() > 2


def test_q_learning_converges_to_the_true_values_if_texts_identify_states():
    game = compile_game(textgames.make("long-watch"))
    true = best(game, 0.9)
    assert converged(fixed_point(game, 0.5, 0.9, 500)).q == pytest.approx(true.q, abs=0.02)


def test_fixed_point_returns_none_without_convergence():
    game = compile_game(textgames.make("long-watch"))
    assert fixed_point(game, 0.5, 0.9, 500, sweeps=3) is None


def test_the_score_of_a_softmax_policy_is_exact(story):
    game = compile_game(story(FORK, rules(Good=8, Bad=-8)))
    q = np.where(np.array(game.actions)[game.action] == "Good", math.log(3), 0.0)
    policy = softmax_of_slots(game, q)
    expected = 0.5 * (8 * 0.75 - 8 * 0.25) + 0.5 * -8
    assert policy_score(game, policy).final_reward == pytest.approx(expected)
    assert policy_value(game, policy) == pytest.approx(-2)
    assert policy_value(game, policy, 0.5) == pytest.approx(-1)


def test_a_series_that_converges_slowly_is_solved_as_equations():
    stay = 1 - 1e-7
    total = series(
        np.array([1.0, 0.0]), np.array([0, 0]), np.array([0, 1]), np.array([stay, 1 - stay])
    )
    assert total == pytest.approx([1e7, 1.0], rel=1e-6)


def test_components_are_ordered_and_their_equations_give_the_sum_of_the_series():
    source = np.array([0, 1, 1, 2, 3, 3])
    target = np.array([1, 0, 2, 3, 2, 4])
    component = strong_components(5, source, target)
    assert component[0] == component[1] < component[2] == component[3] < component[4]
    weight = np.full(6, 0.3)
    summed = series(np.arange(5.0), source, target, weight)
    solved = solve_by_components(np.arange(5.0), source, target, weight)
    assert solved == pytest.approx(summed, rel=1e-9)


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
        text = draw(st.sampled_from([f"{name}.", "Somewhere.", f"{name} <<$x>>"]))
        links = []
        for _ in range(draw(st.integers(1, 3))):
            link = (
                f"[[{draw(st.sampled_from('abc'))}|{draw(st.sampled_from([*names, 'E1', 'E2']))}]]"
            )
            if draw(st.booleans()):
                link = f"<<if {draw(variable)} eq {draw(st.integers(0, 2))}>>{link}<<endif>>"
            links.append(link)
        parts.append(f":: {name}\n{code}{text}\n\n" + "\n".join([*links, "[[out|E1]]"]) + "\n")
    return "\n".join([*parts, ":: E1\nEnd <<$y>>.\n", ":: E2\nOther end.\n"])


def open_tale(tale):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tale.twee"
        path.write_text(tale, encoding="utf-8")
        path.with_suffix(".toml").write_text(
            f'story = "tale.twee"\n{rules(step=-0.5, E1=-3, E2=7)}', encoding="utf-8"
        )
        return textgames.make(path, shuffle=False)


def brute_force(game, discount):
    """Random and best return by sweeps over all states with all their variables."""
    numbers: dict[Any, int] = {}
    scenes = []
    successors: list[Any] = []
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
    while len(successors) < len(todo):
        scene, cells = todo[len(successors)]
        successors.append([outcomes(move, cells) for move in scene.moves])
    mean = np.zeros(len(successors))
    most = np.zeros(len(successors))
    for _ in range(400):
        for state, actions in enumerate(successors):
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
def test_compiled_values_equal_brute_force_over_all_variables(tale):
    game = open_tale(tale)
    graph = compile_game(game)
    mean, most = brute_force(game, 0.8)
    assert policy_value(graph, uniform(graph), 0.8) == pytest.approx(mean, abs=1e-7)
    assert best(graph, 0.8).score == pytest.approx(most, abs=1e-7)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tales(), st.integers(0, 9))
def test_the_best_policy_earns_the_best_score_and_no_policy_exceeds_it(tale, seed):
    graph = compile_game(open_tale(tale))
    other = softmax_of_slots(graph, np.random.default_rng(seed).normal(size=len(graph.row)), 1.0)
    for discount in (None, 1.0, 0.9):
        solution = best(graph, discount)
        value = policy_value(graph, one_slot(graph, solution.slot), discount)
        assert value == pytest.approx(solution.score, abs=1e-9)
        assert policy_value(graph, other, discount) <= solution.score + 1e-9
    chance = policy_score(graph, other)
    assert chance.endings.sum() + chance.trapped == pytest.approx(1)
    assert chance.total == pytest.approx(policy_value(graph, other, 1.0))
    visits = Chain(graph, other).visits()
    assert Chain(graph, other).visits(100_000) == pytest.approx(visits, abs=1e-6)


def test_a_loop_with_an_exit_probability_of_1_in_2000_is_solved(story):
    twee = ":: Start\nHi.\n\n[[play|Try]]\n[[quit|Lose]]\n\n:: Win\nWon.\n\n:: Lose\nLost.\n\n"
    twee += ":: Try\n<<if random(1, 2000) is 1>>[[won|Win]]<<else>>No.\n\n[[again|Try]]\n[[quit|Lose]]<<endif>>\n"
    rules = "[[ending]]\npassage = 'Win'\nreward = 10\n[[ending]]\npassage = 'Lose'\nreward = -1\n"
    game = compile_game(story(twee, rules))
    assert best(game).score == pytest.approx(10, abs=1e-8)
    assert best(game, 0.999).score < 10


@pytest.mark.parametrize("discount", [-1.0, 1.5, float("nan")])
def test_a_discount_out_of_range_is_rejected(story, discount):
    game = compile_game(story(":: Start\nHi.\n\n[[on]]\n\n:: on\nOn.\n"))
    with pytest.raises(textgames.InputError, match="between 0 and 1"):
        best(game, discount)


@pytest.mark.parametrize("exit_probability", [0.5, 1e-17])  # 1 - 1e-17 is 1 in floating point
def test_the_solution_of_a_loop_is_finite(exit_probability):
    source = np.array([0, 1, 1])
    target = np.array([1, 0, 2])
    weight = np.array([1.0, 1.0 - exit_probability, exit_probability])
    total = solve_by_components(np.array([1.0, 0.0, 0.0]), source, target, weight)
    assert np.isfinite(total).all() and total[2] <= 1.0 + 1e-9
    assert exit_probability < 0.1 or total[2] == pytest.approx(1.0)


@pytest.mark.parametrize("backwards", [True, False])
def test_elimination_without_subtraction_solves_the_same_equations(backwards):
    random = np.random.default_rng(3)
    steps = random.random((5, 5))
    steps *= 0.8 / steps.sum(axis=1, keepdims=True)
    first = random.random(5)
    leaving = 1 - steps.sum(axis=1)
    solution = solve_without_subtraction(first, steps, leaving, backwards=backwards)
    matrix = steps if backwards else steps.T
    assert solution == pytest.approx(np.linalg.solve(np.eye(5) - matrix, first))
