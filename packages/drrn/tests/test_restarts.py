"""Links that restart a story: recognised by two of three signs unless the TOML lists them."""

import importlib.util

import pytest

from tests.commands import main
from tests.stories import open_hosted
from tests.tiny_engine import tiny_story

TALE = (
    ":: Start\nA door.\n\n[[Open it.|{name}]]\n\n:: {name}\n{text}\n\n{link}\n\n"
    ":: Hall\nA hall.\n\n[[Sleep.|Bed]]\n\n:: Bed\nBed.\n"
)


def last_actions(story, name, text, link, toml=None):
    game = story(TALE.format(name=name, text=text, link=link), toml)
    game.reset(0)
    return game.step(0).actions


@pytest.mark.parametrize(
    ("name", "text", "link"),
    [
        ("Cellar", "Dark.", "[[Start over->Start]]"),  # the words, and the start
        ("Ending 3", "Dark.", "[[Oh dear.|Start]]"),  # the page's name, and the start
        ("Cellar", "Dark.\n\nTHE END", "[[Oh dear.|Start]]"),  # the page's words, and the start
        ("The End", "Dark.", "[[Play once again|Hall]]"),  # the page's name, and the words
        ("END: Ghosting", "Dark.", "[[Try again?|Hall]]"),
        ("ending_3", "Dark.", "[[Oh dear.|Start]]"),
    ],
)
def test_a_link_that_restarts_the_story_is_not_an_action(story, name, text, link):
    assert last_actions(story, name, text, link) == ()


@pytest.mark.parametrize(
    ("name", "text", "link"),
    [
        ("Cellar", "Dark.", "[[Back.|Start]]"),  # a room next to a hall that is the start
        ("Cellar", "Wrong! Nothing moves.", "[[Try again.|Hall]]"),  # another try at a lock
        ("Lottery", "No luck.", "[[Again.|Start]]"),
        ("West End", "Shops.", "[[Back.|Start]]"),
        ("Day's end", "Night.", "[[Sleep.|Start]]"),
        ("Cellar", "A letter.", "[[Read the letter again|Start]]"),
        ("Cellar", "In the end you find the light.", "[[Back.|Start]]"),
    ],
)
def test_a_link_with_fewer_signs_is_an_action(story, name, text, link):
    assert len(last_actions(story, name, text, link)) == 1


def test_other_links_of_the_page_remain_actions(story):
    links = "[[Restart.|Start]]\n[[Wake up.|Hall]]"
    assert last_actions(story, "Ending 1", "Dark.", links) == ("Wake up.",)


def test_the_first_page_keeps_its_links(story):
    game = story(":: Start\nTHE END\n\n[[Play again.|Start]]\n[[Or not.|Bed]]\n\n:: Bed\nBed.\n")
    assert game.reset(0).actions == ("Play again.", "Or not.")


def test_annotate_lists_the_links_that_restart_the_story(story, tmp_path):
    game = story(TALE.format(name="Ending 3", text="Dark.", link="[[Oh dear.|Start]]"))
    path = tmp_path / "annotated.toml"
    assert main(["annotate", game.story.source, "--out", str(path)]) == 0
    text = path.read_text(encoding="utf-8")
    assert '\n# restart = []  # if these links are choices, not restarts: "Oh dear."\n' in text


@pytest.mark.parametrize(("words", "count"), [("[]", 1), ('["no such words"]', 1), ('["oh"]', 0)])
def test_restarts_in_the_toml_replace_recognition(story, words, count):
    toml = f"restart = {words}\n"
    actions = last_actions(story, "Ending 3", "Dark.", "[[Oh dear.|Start]]", toml)
    assert len(actions) == count


def test_an_empty_list_of_restarts_changes_the_fingerprint(story):
    tale = TALE.format(name="Ending", text="Dark.", link="[[Again|Start]]")
    fingerprint = story(tale).fingerprint
    assert story(tale, "max_steps = 500\n").fingerprint == fingerprint
    assert story(tale, "restart = []\n").fingerprint != fingerprint


@pytest.mark.skipif(importlib.util.find_spec("py_mini_racer") is None, reason="needs drrn[twine]")
@pytest.mark.parametrize(("text", "ended"), [("GAME OVER", True), ("A pause.", False)])
def test_code_that_reloads_a_hosted_story_is_a_sign_of_a_restart(tmp_path, text, ended):
    again = f'<p>{text}</p><a href="#" onclick="location.reload()">Once more</a>'
    (tmp_path / "story.html").write_text(
        tiny_story({"Start": "A door. [[Open it->Last]]", "Last": again})
    )
    game = open_hosted(tmp_path / "story.html", engine="hosted")
    game.reset(0)
    assert game.step(0).ended is ended
    game.close()
