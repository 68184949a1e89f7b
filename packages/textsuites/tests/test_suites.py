"""Games of suites follow the contract; a stand-in with the same interface replaces each suite."""

import pytest

import textgames
from tests.suite_files import LocalService, game_file, open_suite
from textgames.game.contract import fingerprint_of
from textsuites.catalogue import SUITES, read_choice
from textsuites.environments import JerichoEnvironment, ScienceWorldEnvironment
from textsuites.game import SuiteGame

NAMES = ["twx:coin", "textworld:tale.z8", "jericho:tale.z8", "scienceworld:find-plant"]


@pytest.fixture
def open_game(stand_ins, tmp_path, monkeypatch):
    """Function that opens a game of a suite, without a process, in a folder with a game file."""
    monkeypatch.setattr("textsuites.game.Service", LocalService)
    monkeypatch.chdir(tmp_path)
    game_file(tmp_path)
    games = []

    def open_by_name(name):
        games.append(open_suite(name))
        return games[-1]

    yield open_by_name
    for game in games:
        game.close()


def close(game):
    assert isinstance(game, SuiteGame)
    game.close()


def play(game, *actions, seed=0):
    """Return the pages of an episode with these actions."""
    pages = [game.reset(seed)]
    for action in actions:
        pages.append(game.step(pages[-1].actions.index(action)))
    return pages


@pytest.mark.parametrize("name", NAMES)
def test_a_game_of_a_suite_follows_the_contract_and_copies_are_independent(open_game, name):
    first = open_game(name)
    textgames.check_game(first, episodes=2, max_steps=60)  # raises a ContractError
    other = first.another()
    page = first.reset(3)
    assert list(page.actions) == sorted(page.actions)
    assert other.reset(3) == page
    assert first.step(0) == other.step(0)
    assert fingerprint_of(first) == fingerprint_of(other)


def test_rewards_are_differences_of_the_score(open_game):
    pages = play(open_game("textworld:tale.z8"), "go down", "take apple", "look", "eat apple")
    assert [page.reward for page in pages] == [0, 0, 1, 0, 2]
    pages = play(open_game("scienceworld:find-plant?variation=0"), "wait", "focus on plant")
    assert [page.reward for page in pages] == [0, 1, 91]  # the initial score is 8
    floored = open_game("scienceworld:find-plant?variation=0&floor=9")
    assert [page.reward for page in play(floored, "wait", "focus on plant")] == [0, 0, 91]
    whole = open_game("scienceworld:find-plant?variation=0&initial_score=yes")
    assert [page.reward for page in play(whole, "wait", "focus on plant")] == [0, 9, 91]
    pages = play(open_game("jericho:tale.z8"), "take lamp", "leave")
    assert [page.reward for page in pages] == [0, 5, 5]


def test_a_loss_of_score_can_cost_less_in_training_episodes(open_game):
    name = "scienceworld:boil?variation=1&floor=0"
    train = open_game(f"{name}&train_penalty=25")
    assert [page.reward for page in play(train, "wait", "focus on bird")] == [0, 1, -2.25]
    assert [page.reward for page in play(train, "wait", "focus on stone")] == [0, 1, 91]
    whole = open_game(f"{name}&train_penalty=25&initial_score=yes")
    assert [page.reward for page in play(whole, "focus on bird")] == [0, 8 - 2]
    dev = open_game(f"{name}&train_penalty=25&fold=dev")
    assert [page.reward for page in play(dev, "wait", "focus on bird")] == [0, 1, -9]
    assert train.fingerprint != open_game(name).fingerprint
    assert dev.fingerprint == open_game(f"{name}&fold=dev").fingerprint
    with pytest.raises(textgames.InputError, match="train_penalty is 101"):
        open_game(f"{name}&train_penalty=101")


ENDINGS = {
    "twx:coin?seed=0": {"won": ["take coin"], "lost": ["eat coin"]},
    "textworld:tale.z8": {
        "won": ["go down", "take apple", "eat apple"],
        "lost": ["go down", "take apple", "drop apple"],
    },
    "jericho:tale.z8": {"won": ["take lamp", "leave"], "lost": ["leave"]},
    "scienceworld:boil?variation=1": {"won": ["focus on stone"], "lost": ["focus on bird"]},
}


@pytest.mark.parametrize("name", ENDINGS)
def test_an_ending_has_a_name_and_no_actions(open_game, name):
    game = open_game(name)
    for ending, actions in ENDINGS[name].items():
        last = play(game, *actions)[-1]
        assert (last.actions, game.ending, game.stopped) == ((), ending, False)
        with pytest.raises(RuntimeError, match="has ended"):
            game.step(0)


def test_a_step_limit_is_not_an_ending(open_game):
    """The loop truncates an episode before the limits of the suites, which look like endings."""
    for name in NAMES:
        game = open_game(f"{name}?max_steps=3")
        actions = game.reset(0).actions
        harmless = next(text for text in ("look around", "look", "sing") if text in actions)

        def choose(page, action=harmless):
            return page.actions.index(action)

        (episode,) = textgames.play_episodes(game, choose, episodes=1, seed=0)
        assert (episode.steps, episode.ending) == (3, None)
    game = open_game("twx:coin")
    game.reset(0)
    pages = [game.step(game.reset(0).actions.index("look around"))]
    pages += [game.step(pages[-1].actions.index("look around")) for _ in range(200)]
    assert not game.stopped and all(page.actions for page in pages)


def test_the_option_text_selects_the_parts_of_a_page(open_game):
    page = open_game("twx:coin?text=task,look&seed=1").reset(0)
    assert page.text == "Find the coin.\nYou are in the kitchen of house 1 (train)."
    page = open_game("textworld:tale.z8").reset(0)
    assert page.text == "-= Attic =-\nYou are in the attic.\nYou are carrying nothing."
    page = play(open_game("textworld:tale.z8?text=objective,feedback"), "look")[-1]
    assert page.text == "Eat the apple.\nYou look."  # without the status line


def test_the_seed_selects_the_variation(open_game):
    coin = open_game("twx:coin?text=look&variations=2")
    texts = {coin.reset(seed).text for seed in range(20)}
    assert texts == {f"You are in the kitchen of house {house} (train)." for house in (0, 1)}
    assert "house 20" in open_game("twx:coin?text=look&fold=test").reset(0).text
    task = open_game("scienceworld:boil?fold=dev&text=look&simplifications=easy,openDoors")
    texts = {task.reset(seed).text for seed in range(20)}
    assert texts == {f"A workshop ({number}, easy,openDoors)." for number in (5, 6)}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("twx:", "such as twx:coin"),
        ("twx:coins", 'Did you mean "coin"'),
        ("twx:coin?numLocation=3", '"numLocations"'),
        ("twx:coin?numLocations=many", 'numLocations is "many"'),
        ("twx:coin?fold=tests", 'Did you mean "test"'),
        ("twx:coin?text=looks", 'Did you mean "look"'),
        ("twx:coin?seed", "seed=VALUE"),
        ("twx:coin?seed=1&seed=2", "write seed=VALUE, once"),
        ("twx:coin?copies=0", "copies is 0"),
        ("scienceworld:boill", 'Did you mean "boil"'),
        ("scienceworld:boil?variation=9", "0 to 8"),
        ("scienceworld:boil?simplification=easy", 'Did you mean "simplifications"'),
        ("jericho:tale.z5", r"tale.z5: no such file. Did you mean"),
        ("jericho:none.z5", "not a story file"),
        ("jericho:cut.z5", "128 of 512 bytes"),
        ("jericho:other.z5", "does not know this file"),
        ("textworld:lonely.z8", "lonely.json is missing"),
        ("textworld:none.z5", "not a game of TextWorld"),
    ],
)
def test_a_wrong_name_or_option_gives_one_sentence(open_game, tmp_path, name, message):
    text = "A text that is longer than the header of a story file of the Z-machine needs to be."
    (tmp_path / "none.z5").write_text(text)
    (tmp_path / "none.json").write_text("{}")
    game_file(tmp_path, "other.z5", supported=False)
    data = game_file(tmp_path, "cut.z5").read_bytes()
    (tmp_path / "cut.z5").write_bytes(data[:0x1A] + b"\0\x40" + data[0x1C:])
    (tmp_path / "lonely.z8").write_bytes((tmp_path / "tale.z8").read_bytes())
    with pytest.raises(textgames.InputError, match=message) as error:
        open_game(name)
    assert "\n" not in str(error.value)


def test_the_error_for_a_missing_suite_names_the_installation(monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    game_file(tmp_path)
    for name in NAMES:
        suite = SUITES[name.partition(":")[0]]
        message = rf"{suite.title} .*pip install {suite.package}"
        with pytest.raises(textgames.InputError, match=message):
            textgames.make(name.replace("tale.z8", str(tmp_path / "tale.z8")))


def test_the_error_for_missing_java_names_the_command(stand_ins, monkeypatch):
    monkeypatch.setenv("PATH", "")
    for name in ("twx:coin", "scienceworld:boil"):
        with pytest.raises(textgames.InputError, match=r"Java.*(apt-get|brew) install"):
            textgames.make(name)


def test_the_fingerprint_covers_everything_that_changes_episodes(open_game, tmp_path):
    prints = [
        fingerprint_of(open_game(f"twx:coin{options}"))
        for options in ("", "?seed=1", "?seconds=9&copies=3", "?seed=2", "?floor=0")
    ]
    assert prints[0] == prints[2] and len(set(prints)) == 4
    before = read_choice(f"jericho:{tmp_path / 'tale.z8'}").fingerprint
    (tmp_path / "tale.z8").write_bytes((tmp_path / "tale.z8").read_bytes() + b"more")
    assert read_choice(f"jericho:{tmp_path / 'tale.z8'}").fingerprint != before


def open_jericho(folder):
    """Open the stand-in's story in this process."""
    choice = read_choice(f"jericho:{game_file(folder)}")
    return JerichoEnvironment(choice.game, choice.options)


def test_jericho_lists_the_actions_once_for_each_state_of_the_world(stand_ins, tmp_path):
    """Nor does the list change the state."""
    environment = open_jericho(tmp_path)
    first = environment.reset(1).actions
    assert environment.step("sing").actions == first
    assert environment.env.menu_requests == 1
    assert environment.env.state[1] == 1  # moves
    assert environment.step("take lamp").actions != first
    assert environment.env.menu_requests == 2


def test_jericho_never_receives_the_seed_0_because_it_ignores_it(stand_ins, tmp_path):
    environment = open_jericho(tmp_path)
    for seed in (0, 2**31 - 2, 2**31 - 1):
        environment.reset(seed)
    assert all(1 <= seed < 2**31 for seed in environment.env.seeds)
    first_pages = set()
    second_pages = set()
    for seed in range(20):
        first_pages.add(environment.reset(seed).text)
        second_pages.add(environment.step("sing").text)
    assert len(first_pages) == 1
    assert len(second_pages) == 3


def test_jericho_recognises_objects_by_the_dictionary_of_the_game(stand_ins, tmp_path):
    environment = open_jericho(tmp_path)
    environment.reset(1)
    assert environment.env.objects == {("brass", "ADJ"), ("lantern", "NOUN")}


def test_an_episode_of_scienceworld_generates_its_world_once(stand_ins):
    options = read_choice("scienceworld:boil").options
    environment = ScienceWorldEnvironment("boil", options)
    loads = environment.env.loads
    texts = [environment.reset(seed).text for seed in (0, 1, 1, 2)]
    assert environment.env.loads == loads + 4
    assert texts[1] == texts[2] != texts[3]


def test_quantities_of_textworld_express_have_a_space_before_the_unit(open_game):
    game = open_game("twx:sorting?text=observation")
    page = game.reset(seed=0)
    page = game.step(page.actions.index("take 23 mm of rope"))
    assert page.reward == 0.5  # the suite received its own words
    assert page.text == "You take 23 mm of rope."
