"""Home World: scores computed independently, its rules, and facts about its sentences."""

import itertools

import numpy as np
import pytest

import textgames
from textgames.compiled.compile import compile_game
from textgames.compiled.solve import best, one_slot, policy_score, random_play
from textgames.worlds.home_world import DONE, MOST_COMMANDS, OUT_OF_TIME, HomeState

VERBS = ("eat", "sleep", "watch", "exercise", "go")
THINGS = ("tv", "bike", "apple", "bed")


@pytest.fixture(scope="module")
def world():
    return textgames.make("home-world", shuffle=False)


@pytest.fixture(scope="module")
def compiled(world):
    return compile_game(world)


def success_rate(compiled, score):
    """Return the share of completed quests."""
    endings = zip(compiled.endings, score.endings, strict=True)
    return sum(share for ending, share in endings if ending.passage == DONE)


def best_for_a_bag(world, needs, alike):
    """Return the best commands [room][description] for a player who knows only two possible needs.

    With `alike`, the player cannot distinguish the descriptions of a room.
    """
    options = []
    for number, room in enumerate(world.home.rooms):
        commands = [f"go {direction}" for direction in room.exits]
        if number in needs:  # in other rooms the command is useless
            commands.append(f"{room.verb} {room.thing}")
        mixed = itertools.combinations_with_replacement(commands, len(room.descriptions))
        options.append([some for some in mixed if len(set(some)) == 1 or not alike])
    policies = list(itertools.product(*options))
    probabilities = [move_probabilities(world, policy) for policy in policies]
    go = np.stack([moves for moves, _ in probabilities])
    use = np.stack([uses for _, uses in probabilities])
    total = np.sum([values(go, use, need) for need in needs], axis=0)
    return policies[int(total.argmax())]


def move_probabilities(world, policy):
    """Return the probabilities of going from room to room [4, 4] and of using a room's thing [4]."""
    go = np.zeros((4, 4))
    use = np.zeros(4)
    for here, commands in enumerate(policy):
        for verb, thing in map(str.split, commands):
            if verb == "go":
                go[here, world.number[world.home.rooms[here].exits[thing]]] += 1 / len(commands)
            else:
                use[here] += 1 / len(commands)
    return go, use


def values(go, use, need):
    """Return the mean return of each policy over the four rooms to start in."""
    pay = np.full(use.shape, -0.01)
    pay[:, need] += 1.01 * use[:, need]
    stay = use.copy()
    stay[:, need] = 0
    value = np.zeros(use.shape)
    for _ in range(MOST_COMMANDS):
        value = pay + np.einsum("prq,pq->pr", go, value) + stay * value
    return value.mean(axis=1)


def test_random_play_returns_minus_1_576_and_completes_a_tenth_of_the_quests(compiled):
    score = random_play(compiled)
    assert score.total == pytest.approx(-1.576, abs=0.0005)
    assert score.steps == pytest.approx(18.9, abs=0.05)
    assert success_rate(compiled, score) == pytest.approx(0.105, abs=0.0005)


def test_the_best_play_returns_0_990_in_two_steps_and_completes_every_quest(compiled):
    solution = best(compiled, 1.0)
    score = policy_score(compiled, one_slot(compiled, solution.slot))
    assert solution.score == pytest.approx(0.990, abs=0.0005)
    assert (success_rate(compiled, score), score.steps) == pytest.approx((1.0, 2.0))


@pytest.mark.parametrize(
    ("alike", "mean_return", "share"),
    [(False, 0.935, 0.979), (True, 0.398, 0.5)],
    ids=["descriptions", "rooms alone"],
)
def test_the_best_score_of_a_bag_of_words(world, compiled, alike, mean_return, share):
    commands = {}  # text → command
    for needs in itertools.combinations(range(4), 2):
        policy = best_for_a_bag(world, needs, alike)
        for room, description in itertools.product(range(4), range(3)):
            for need, other in (needs, needs[::-1]):
                text = world.look(HomeState(room, description, need, other, 0, 0.0)).text
                commands[text] = policy[room][description]
    texts = [compiled.texts[text] for text in compiled.text[compiled.slot_state]]
    actions = [compiled.actions[action] for action in compiled.action]
    chosen = [commands[text] == action for text, action in zip(texts, actions, strict=True)]
    score = policy_score(compiled, np.array(chosen, float))
    assert score.total == pytest.approx(mean_return, abs=0.0006)
    assert success_rate(compiled, score) == pytest.approx(share, abs=0.0005)


def test_the_description_is_drawn_again_when_a_command_fails(world):
    state = HomeState(room=2, description=0, need=2, other=0, steps=3, reward=-0.01)  # the kitchen
    outcomes = list(world.outcomes(state, world.commands.index("watch bed")))
    assert [chance for chance, _ in outcomes] == pytest.approx([1 / 3] * 3)
    states = [HomeState(2, description, 2, 0, 4, -0.1) for description in range(3)]
    assert [after for _, after in outcomes] == states


@pytest.mark.parametrize(
    ("command", "need", "pays"),
    [
        ("eat apple", 2, 1.0),
        ("eat apple", 0, -0.01),  # nothing is used up
        ("eat north", 2, -0.01),  # the parser reads it as an exit
        ("eat south", 2, -0.1),
        ("eat bed", 2, -0.1),
        ("sleep bed", 3, -0.1),  # another room's verb
        ("go north", 2, -0.01),
        ("go south", 2, -0.1),
        ("go apple", 2, -0.1),
    ],
)
def test_rewards_of_commands_in_the_kitchen(world, command, need, pays):
    state = HomeState(room=2, description=0, need=need, other=1, steps=0, reward=0.0)
    for _, after in world.outcomes(state, world.commands.index(command)):
        assert world.look(after).reward == pays


def test_the_day_ends_after_twenty_commands_unless_the_last_completes_the_quest(world):
    last = HomeState(room=2, description=0, need=2, other=0, steps=MOST_COMMANDS - 1, reward=-0.1)
    for command, ending, pays in (
        ("go bed", OUT_OF_TIME, -0.1),
        ("go north", OUT_OF_TIME, -0.01),
        ("eat apple", DONE, 1),
    ):
        [(chance, after)] = world.outcomes(last, world.commands.index(command))
        page = world.look(after)
        assert chance == 1 and page.ended
        assert (page.reward, world.ending_at(after)) == (pays, ending)
