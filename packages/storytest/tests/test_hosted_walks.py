"""Games that stay in one engine: the same pages as cached games, typed words, timers, menus."""

import json
from pathlib import Path

import pytest

from storytest.hosted.game import HostedGame
from storytest.playtest.clicks import ClickPath, read_path, replay_episode
from storytest.playtest.playtest import StoryTest
from storytest.playtest.report import steps_of
from tests.stories import open_hosted
from tests.story_formats import needs_formats, open_twee
from tests.tiny_engine import tiny_story
from textgames.errors import InputError

CODE = {
    "Start": "<<set $gold to 3>>A gate. [[Bribe the guard->Yard][$gold -= random(1, 3)]] [[Leave->End]]",
    "Yard": "<<if $gold gt 0>>[[Buy bread->Yard][$gold -= 1]]<</if>> [[Leave->End]] <<= setup.name()>>",
    "End": "You have $gold gold.",
    "Names [script]": "setup.name = () => 'Ada';",
}


def pages_of(game: HostedGame, seed: int) -> list[str]:
    page = game.reset(seed)
    texts = [page.text]
    while page.actions and len(texts) < 9:
        page = game.step(len(texts) * seed % len(page.actions))
        texts.append(page.text)
    return texts


@needs_formats
def test_a_walk_shows_the_same_pages_as_a_cached_game(tmp_path, home):
    game = open_twee(CODE, "sugarcube", "2.37.3", tmp_path)
    pages = [pages_of(game, seed) for seed in range(6)]
    game.walks = True
    assert [pages_of(game, seed) for seed in range(6)] == pages
    game.close()


@needs_formats
@pytest.mark.full
def test_a_story_whose_script_remembers_is_loaded_again_for_each_walk(tmp_path, home):
    counted = {
        "Start": "<<run setup.visit()>>A hall. [[On->End]]",
        "End": "Seen <<= setup.count()>> times.",
        "Code [script]": "let n = 0; setup.visit = () => { n += 1; }; setup.count = () => n;",
    }
    game = open_twee(counted, "sugarcube", "2.37.3", tmp_path)
    game.walks = True
    ends = [pages_of(game, seed)[-1] for seed in range(6)]
    game.close()
    assert ends.count("Seen 1 times.") >= 4  # a comparison detects it after at most two games


def report_of(pages, tmp_path, clicks=600, **limits):
    (tmp_path / "tale.html").write_text(tiny_story(pages), encoding="utf-8")
    game = open_hosted(tmp_path / "tale.html", shuffle=False)
    findings = StoryTest(game, clicks=clicks, **limits).run()
    return game, findings


def test_words_that_the_story_compares_with_are_typed(tmp_path, home):
    check = "story.show(document.getElementById('w').value === 'sesame' ? 'Cave' : 'Start')"
    rock = f'A rock. <input type="text" id="w"><button onclick="{check}">Say it</button>'
    game, findings = report_of({"Start": rock, "Cave": "Gold."}, tmp_path, clicks=200)
    assert [ending.name for ending in findings.endings] == ["Cave"]
    assert not findings.exact
    probability = findings.endings[0].probability
    assert probability is not None and probability.mean > 0  # random games type, too
    path = findings.endings[0].path
    assert path is not None and path.curious
    _, clicks = replay_episode(game, path)
    assert clicks[-1][0].text == "Gold."
    assert "(You type “sesame”.)" in clicks[-2][0].text
    assert steps_of(path)[-2:] == ["type “sesame”", "Say it"]
    game.close()


def test_words_typed_at_a_prompt_are_recorded_with_the_page(tmp_path):
    ask = "story.show(prompt('The word?') === 'sesame' ? 'Cave' : 'Start')"
    pages = {"Start": f'A rock. <a onclick="{ask}">Speak</a>', "Cave": "Gold."}
    (tmp_path / "tale.html").write_text(tiny_story(pages), encoding="utf-8")
    game = open_hosted(tmp_path / "tale.html", shuffle=False)
    game.walks = True
    game.curious = 1
    typed = set()
    for seed in range(8):
        game.reset(seed)
        game.step(0)
        position = game.position_at(game.state)
        typed.add((position.passage, position.words))
    game.close()
    assert ("Cave", "sesame") in typed
    assert {words for name, words in typed if name == "Start"} <= {"", "sesame sesame"}


@pytest.mark.full
def test_timers_are_awaited_and_interrupted(tmp_path, home):
    bridge = (
        "{{(window.t = setTimeout(() => story.show('River'), 5000), '')}}It sways. [[Run->Far]]"
    )
    far = "{{(clearTimeout(window.t), '')}}You made it."
    pages = {"Start": "[[Cross->Bridge]]", "Bridge": bridge, "Far": far, "River": "Wet."}
    game, findings = report_of(pages, tmp_path)
    game.close()
    paths = {ending.name: ending.path for ending in findings.endings}
    assert set(paths) == {"Far", "River"}
    assert "Run" in steps_of(paths["Far"])
    assert "(wait)" not in steps_of(paths["River"])  # who takes the usual path waits anyway


@pytest.mark.full
def test_the_pointer_is_moved_over_and_things_are_dragged(tmp_path, home):
    pages = {
        "Start": "[[Go->Room]]",
        "Room": "<b onmouseenter=\"story.show('Bird')\">A bird.</b> [[On->Lock]]",
        "Bird": "It flies. [[On->Lock]]",
        "Lock": """<i draggable="true" ondragstart="event.dataTransfer.setData('a', 'key')">A key</i>
            <u ondrop="story.show(event.dataTransfer.getData('a') === 'key' ? 'Open' : 'Lock')">A lock</u>""",
        "Open": "It opens.",
    }
    game, findings = report_of(pages, tmp_path)
    assert findings.passages.count == 5 and not findings.exact
    assert {ending.name for ending in findings.endings} == {"Lock", "Open"}
    assert not findings.problems
    path = next(ending.path for ending in findings.endings if ending.name == "Open")
    assert path is not None and path.curious == 2
    assert replay_episode(game, path)[1][-1][0].text == "It opens."
    game.close()


def test_menus_of_the_engine_are_no_choices(tmp_path):
    pages = {
        "Start": '<a onclick="UI.saves()">Saves</a> <a onclick="UI.settings()">Settings</a> [[Go->End]]',
        "End": '<a onclick="UI.restart()">Restart</a> The end.',
    }
    (tmp_path / "tale.html").write_text(tiny_story(pages), encoding="utf-8")
    game = open_hosted(tmp_path / "tale.html", shuffle=False)
    assert game.reset(0).actions == ("Go",)
    assert game.step(0).actions == ()
    game.close()


@needs_formats
@pytest.mark.full
@pytest.mark.parametrize("version", ["1.2.3", "2.3.1"])
def test_dice_of_chapbook_have_their_odds(version, tmp_path, home):
    # Chapbook rounds 1 + 3 r for r between 0 and 1, so that a 1 has the odds of 1 to 5.
    roll = "roll: random.d4\ncoin: random.coinFlip\n--\n{roll}\n"
    choice = "\n[if roll === 1 && coin]\n[[Cry->Low]]\n[else]\n[[Smile->High]]"
    pages = {"Start": "[[Roll->Roll]]", "Roll": roll + choice, "Low": "Low.", "High": "High."}
    game = open_twee(pages, "chapbook", version, tmp_path)
    findings = StoryTest(game, clicks=600).run()
    game.close()
    shares = {one.name: one.probability.mean for one in findings.endings if one.probability}
    assert findings.exact and shares == pytest.approx({"Low": 1 / 12, "High": 11 / 12})


def test_a_path_by_numbers_says_how_it_was_played():
    path = ClickPath(("On", "Off"), (0, 1), 7, curious=2)
    assert path.numbers == "1,2@7c"
    assert [read_path(Path(f"1,2@7{how}")).curious for how in ("", "t", "c")] == [0, 1, 2]


@pytest.mark.parametrize("typed", ["ab", ["a"], ["a", 1]])
def test_a_path_with_other_typed_words_than_its_pages_is_refused(typed, tmp_path):
    file = tmp_path / "path.json"
    table = {"actions": ["On", "Off"], "comes_to": "", "typed": typed}
    file.write_text(json.dumps(table), encoding="utf-8")
    with pytest.raises(InputError, match="path"):
        read_path(file)
