"""Home World out of a clone of its authors' repository: a batch file of our own in the same notation; the real one."""

import os
from pathlib import Path

import pytest

import drrn
from drrn.cli import main
from drrn.compiled.compile import compile_game
from drrn.compiled.solve import best, random_play
from drrn.errors import InputError
from drrn.game.contract import check_game
from drrn.lab.authors import text_world
from drrn.lab.authors.text_world import BUILD, ORIGINAL, add_home_world, read_build

pytestmark = pytest.mark.usefixtures("home")

SMALL = """\
# A barge of our own, in the notation of the original
@tel #2
#
@dig Saloon;tut#01
 : text_sims.rooms.TutorialRoom
#
@open start = tut#01
#
start
#
@detail desc1 = A piano with water in it.
#
@detail desc2 = You are in the saloon.
#
@create/drop screen:text_sims.objects.Watchable
#
@desc screen = A sail on which pictures are thrown.
#
@dig/teleport Upper Deck;tut#02
 : text_sims.rooms.TutorialRoom
 = east;go east, west;go west
#
@detail desc1 = Ropes, and a view of the bank.
#
@create/drop oars:text_sims.objects.Exercisable
#
@dig/teleport Galley;tut#03
 : text_sims.rooms.TutorialRoom
 = south;go south, north;go north
#
@detail desc1 = Onions swing to and fro.
#
@create/drop bun:text_sims.objects.Consumable
#
@dig/teleport Cabin;tut#04
 : text_sims.rooms.TutorialRoom
 = west;go west, east;go east
#
@open north;go north = tut#01
#
@detail desc1 = Two bunks, one above the other.
#
@create/drop bunk:text_sims.objects.Sleepable
#
# back, for the last way
north
#
@open south;go south = tut#04
#
@tel #2"""


@pytest.fixture
def barge(tmp_path):
    """A clone whose file is our own."""
    (tmp_path / "clone" / BUILD).parent.mkdir(parents=True)
    (tmp_path / "clone" / BUILD).write_text(SMALL, encoding="utf-8")
    return tmp_path / "clone"


def test_the_rooms_of_a_batch_file_are_read_with_their_ways():
    rooms = {room["name"]: room for room in read_build(SMALL, "build.ev")["room"]}
    assert {name: room["exits"] for name, room in rooms.items()} == {
        "saloon": {"east": "upper deck", "south": "cabin"},
        "upper deck": {"west": "saloon", "south": "galley"},
        "galley": {"north": "upper deck", "west": "cabin"},
        "cabin": {"east": "galley", "north": "saloon"},
    }
    assert rooms["saloon"]["descriptions"] == [
        "A piano with water in it.",
        "You are in the saloon.",
    ]
    assert [room["thing"] for room in rooms.values()] == ["screen", "oars", "bun", "bunk"]


def test_it_is_the_same_world_in_other_words(barge):
    add_home_world(barge, altered=True)
    game = drrn.make(ORIGINAL)
    check_game(game)
    compiled = compile_game(game)
    assert random_play(compiled).total == pytest.approx(-1.576, abs=0.0005)
    assert best(compiled, 1.0).score == pytest.approx(0.990, abs=0.0005)
    assert "eat bun" in game.commands and "not hungry now but you are" in " ".join(compiled.texts)


def test_the_command_adds_it_once_and_lists_it(barge, capsys, known_games):
    assert main(["games", "add", str(barge), "--altered"]) == 0
    assert "installed: file" in capsys.readouterr().out
    assert main(["games", "add", str(barge), "--altered"]) == 0
    assert "already installed" in capsys.readouterr().out
    assert main(["games"]) == 0
    assert "Home World (original)" in capsys.readouterr().out


def test_the_error_before_it_is_added_names_the_command(capsys, known_games):
    with pytest.raises(
        InputError, match=r"not installed: git clone https://github\.com/mrkulk/text-world"
    ):
        drrn.make(ORIGINAL)
    assert main(["games"]) == 0
    assert "home-world-original: not installed" in capsys.readouterr().out


def test_a_file_that_was_altered_is_taken_only_if_asked(barge):
    with pytest.raises(InputError, match="differs from the file published"):
        add_home_world(barge)


def test_what_is_installed_stays_when_a_file_makes_no_world(barge):
    add_home_world(barge, altered=True)
    (barge / BUILD).write_text(SMALL.replace("objects.Consumable", "objects.Edible"))
    with pytest.raises(InputError, match=r"the galley has Edible, not one of Watchable"):
        add_home_world(barge, altered=True)
    assert drrn.make(ORIGINAL).home.rooms[2].thing == "bun"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "@desc screen = A sail",
            "@py import os; os.remove",
            r"line 17: .*'@py import os; os.remove on which",
        ),
        ("@detail desc1 = Onions swing to and fro.", "#", "the galley has no description"),
        ("@open north;go north = tut#01", "@open north;go north = tut#09", "line 46: .*'north'"),
        ("@create/drop bunk:text_sims.objects.Sleepable", "#", "the cabin has no thing"),
        ("@dig/teleport Cabin", "@dig/teleport Cabin;x y", "line"),
    ],
)
def test_a_file_that_builds_something_else_is_refused_with_its_line(old, new, why):
    assert old in SMALL
    with pytest.raises(InputError, match=why):
        read_build(SMALL.replace(old, new), "build.ev")


def test_the_error_for_an_unreadable_record_names_the_cure(home):
    (home / "games").mkdir(parents=True)
    (home / "games" / f"{ORIGINAL}.json").write_text("{")
    with pytest.raises(InputError, match="delete it and add the world again"):
        drrn.make(ORIGINAL)


def test_rewards_as_published_are_of_the_papers_games(barge, capsys):
    assert main(["games", "add", str(barge), "--as-published"]) == 2
    assert "--as-published is for the paper's games" in capsys.readouterr().err


def test_the_published_file_makes_144_texts_of_64_words():
    clone = Path(os.environ.get("TEXT_WORLD", "text-world"))
    if not text_world.is_text_world(clone):
        pytest.skip("a clone of mrkulk/text-world is not at hand: name one by TEXT_WORLD")
    add_home_world(clone)
    pages = [text for text in compile_game(drrn.make(ORIGINAL)).texts if "You are not" in text]
    assert (
        len(pages) == 144 and len({word for text in pages for word in drrn.text.words(text)}) == 64
    )
