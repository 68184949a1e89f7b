"""Home World: the rules of 2015, in numbers that were computed elsewhere, and sentences that keep to its facts."""

import itertools

import numpy as np
import pytest

import drrn
from drrn.compiled.chain import uniform
from drrn.compiled.compile import compile_game
from drrn.compiled.solve import best, one_slot, policy_score, random_play
from drrn.game.contract import check_game
from drrn.worlds.home_world import DIRECTIONS, DONE, MOST_COMMANDS, OUT_OF_TIME, HomeState
from drrn.writing import words
from tests.game_checks import check_outcomes

VERBS = ("eat", "sleep", "watch", "exercise", "go")
THINGS = ("tv", "bike", "apple", "bed")


@pytest.fixture(scope="module")
def world():
    return drrn.make("home-world", shuffle=False)


@pytest.fixture(scope="module")
def compiled(world):
    return compile_game(world)


def done(compiled, score):
    """The share of quests done."""
    return sum(
        share
        for place, share in zip(compiled.endings, score.endings, strict=True)
        if place.passage == DONE
    )


def best_for_a_bag(world, needs, alike):
    """The best command for each room and description, of all there are, where either need may be the true one; room by
    room, the commands by description. `alike`: the descriptions of a room cannot be told apart."""
    rooms, options = world.home.rooms, []
    for number, room in enumerate(rooms):
        commands = [f"go {direction}" for direction in room.exits]
        commands += (
            [f"{room.verb} {room.thing}"] if number in needs else []
        )  # elsewhere it is of no use
        mixed = itertools.combinations_with_replacement(commands, len(room.descriptions))
        options.append([some for some in mixed if len(set(some)) == 1 or not alike])
    policies = list(itertools.product(*options))
    go, use = (
        np.stack(part) for part in zip(*(shares(world, policy) for policy in policies), strict=True)
    )
    total = sum(values(go, use, need) for need in needs)
    return policies[int(total.argmax())]


def shares(world, policy):
    """How often one goes from room to room [4, 4], and uses the thing of a room [4]."""
    go, use = np.zeros((4, 4)), np.zeros(4)
    for here, commands in enumerate(policy):
        for verb, thing in map(str.split, commands):
            if verb == "go":
                go[here, world.number[world.home.rooms[here].exits[thing]]] += 1 / len(commands)
            else:
                use[here] += 1 / len(commands)
    return go, use


def values(go, use, need):
    """The mean return of each policy from all four rooms, by as many steps as a day has."""
    pay = np.full(use.shape, -0.01)
    pay[:, need] += 1.01 * use[:, need]
    stay, value = use.copy(), np.zeros(use.shape)
    stay[:, need] = 0
    for _ in range(MOST_COMMANDS):
        value = pay + np.einsum("prq,pq->pr", go, value) + stay * value
    return value.mean(axis=1)


def test_random_play_returns_minus_1_576_and_does_a_tenth_of_the_quests(compiled):
    score = random_play(compiled)
    assert score.total == pytest.approx(-1.576, abs=0.0005)
    assert score.steps == pytest.approx(18.9, abs=0.05)
    assert done(compiled, score) == pytest.approx(0.105, abs=0.0005)


def test_the_best_play_returns_0_990_in_two_steps_and_does_every_quest(compiled):
    solution = best(compiled, 1.0)
    score = policy_score(compiled, one_slot(compiled, solution.slot))
    assert solution.score == pytest.approx(0.990, abs=0.0005)
    assert (done(compiled, score), score.steps) == pytest.approx((1.0, 2.0))


def test_the_best_play_with_a_twentieth_of_chance_returns_0_981(compiled):
    chosen = one_slot(compiled, best(compiled, 1.0).slot)
    score = policy_score(compiled, 0.95 * chosen + 0.05 * uniform(compiled))
    assert score.total == pytest.approx(0.981, abs=0.0005)


@pytest.mark.parametrize(
    ("alike", "returned", "share"),
    [(False, 0.935, 0.979), (True, 0.398, 0.5)],
    ids=["descriptions", "rooms alone"],
)
def test_what_a_bag_of_words_can_reach(world, compiled, alike, returned, share):
    policy = {
        needs: best_for_a_bag(world, needs, alike) for needs in itertools.combinations(range(4), 2)
    }
    wanted = {}  # the command of each text
    for room, description, (need, other) in itertools.product(
        range(4), range(3), itertools.permutations(range(4), 2)
    ):
        text = world.look(HomeState(room, description, need, other, 0, 0.0)).text
        wanted[text] = policy[tuple(sorted((need, other)))][room][description]
    at = compiled.slot_state
    taken = [wanted[compiled.texts[text]] == compiled.actions[action]
             for text, action in zip(compiled.text[at], compiled.action, strict=True)]  # fmt: skip
    score = policy_score(compiled, np.array(taken, float))
    assert score.total == pytest.approx(returned, abs=0.0006)
    assert done(compiled, score) == pytest.approx(share, abs=0.0005)


def test_it_keeps_the_contract_and_lists_its_outcomes():
    for game in (
        drrn.make("home-world"),
        drrn.make("home-world", shuffle=False),
        drrn.compile_game(drrn.make("home-world")),
    ):
        check_game(game, episodes=20)
    check_outcomes(drrn.make("home-world"), episodes=5)


def test_every_page_offers_five_verbs_times_eight_objects(compiled):
    commands = {
        f"{verb} {thing}" for verb, thing in itertools.product(VERBS, (*DIRECTIONS, *THINGS))
    }
    assert len(commands) == 40
    assert all(set(page) == commands for page in menus(compiled))


def menus(compiled):
    return [
        [compiled.actions[a] for a in page if a >= 0]
        for page in compiled.page_actions
        if page[0] >= 0
    ]


def test_shuffled_commands_have_a_new_order_and_the_same_effects():
    shuffled, plain = drrn.make("home-world"), drrn.make("home-world", shuffle=False)
    assert plain.reset(seed=1).actions == plain.step(0).actions == plain.commands
    first, second = shuffled.reset(seed=1), shuffled.step(0)
    assert sorted(first.actions) == sorted(second.actions) == sorted(plain.commands)
    assert len({first.actions, second.actions, plain.commands}) == 3


def test_144_texts_are_72_bags_of_words(world):
    quests = [world.quest(*pair) for pair in itertools.permutations(range(4), 2)]
    assert len(set(quests)) == 12 and len({tuple(sorted(words(quest))) for quest in quests}) == 6
    texts = {
        f"{text} {quest}"
        for room in world.home.rooms
        for text in room.descriptions
        for quest in quests
    }
    assert len(texts) == 144 and len({tuple(sorted(words(text))) for text in texts}) == 72


def test_no_description_names_an_exit_or_an_object_except_tv_and_bed(world):
    for room in world.home.rooms:
        assert len(set(room.descriptions)) == 3
        for text in room.descriptions:
            assert not {*DIRECTIONS, "bike", "apple"} & set(words(text))
            assert ({"tv", "bed"} & set(words(text))) <= {room.thing}


def test_one_description_of_the_kitchen_mentions_living(world):
    kitchen = world.home.rooms[world.number["kitchen"]]
    assert sum("living" in words(text) for text in kitchen.descriptions) == 1


def test_the_description_is_drawn_again_when_a_command_fails(world):
    state = HomeState(room=2, description=0, need=2, other=0, steps=3, reward=-0.01)  # the kitchen
    led = list(world.outcomes(state, world.commands.index("watch bed")))
    assert [chance for chance, _ in led] == pytest.approx([1 / 3] * 3)
    assert [after for _, after in led] == [HomeState(2, d, 2, 0, 4, -0.1) for d in range(3)]


@pytest.mark.parametrize(
    ("command", "need", "pays"),
    [
        ("eat apple", 2, 1.0),
        ("eat apple", 0, -0.01),  # nothing is used up
        ("eat north", 2, -0.01),  # the parser finds the exit
        ("eat south", 2, -0.1),
        ("eat bed", 2, -0.1),
        ("sleep bed", 3, -0.1),  # another room's verb
        ("go north", 2, -0.01),
        ("go south", 2, -0.1),
        ("go apple", 2, -0.1),
    ],
)
def test_what_commands_pay_in_the_kitchen(world, command, need, pays):
    state = HomeState(room=2, description=0, need=need, other=1, steps=0, reward=0.0)
    for _, after in world.outcomes(state, world.commands.index(command)):
        assert world.look(after).reward == pays


def test_in_each_room_35_commands_cost_a_tenth_and_2_move(world):
    for room in range(4):
        effects = world.effects(HomeState(room, 0, (room + 1) % 4, (room + 2) % 4, 0, 0.0))
        assert sum(pays == -0.1 for _, pays in effects) == 35
        assert sum(there not in (None, room) for there, _ in effects) == 2


def test_after_twenty_commands_the_day_is_over_unless_the_last_one_does_it(world):
    last = HomeState(room=2, description=0, need=2, other=0, steps=MOST_COMMANDS - 1, reward=-0.1)
    for command, ending, pays in (
        ("go bed", OUT_OF_TIME, -0.1),
        ("go north", OUT_OF_TIME, -0.01),
        ("eat apple", DONE, 1),
    ):
        [(chance, after)] = world.outcomes(last, world.commands.index(command))
        shown = world.look(after)
        assert (chance, shown.ended, shown.reward, world.ending_at(after)) == (
            1,
            True,
            pays,
            ending,
        )


def test_stories_alone_have_paraphrases_and_engines():
    with pytest.raises(drrn.InputError, match="home-world: the option paraphrased is for stories"):
        drrn.make("home-world", paraphrased=True)


def test_the_settings_that_suit_it_play_at_most_20_000_steps(world):
    training = world.training
    assert training["rounds"] * training["episodes_per_round"] * MOST_COMMANDS <= 20_000
