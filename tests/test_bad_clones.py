"""Clones of another form than the published one: refused in one sentence, nothing run, nothing lost."""

import random
import re

import pytest

from drrn.errors import InputError
from drrn.lab.authors.clone import Sources, read_sources
from drrn.lab.authors.install import add_games, converted
from drrn.lab.authors.pickled import Record, read_pickle
from drrn.stories import added as place
from tests.imitation import CROSSING, GATE, clone, pickled_story, written

SIMULATOR = "simulators/MySimulator.py"
pytestmark = pytest.mark.usefixtures("home", "own_folder")


def added(folder):
    return add_games(folder, altered=True)


def everything(folder):
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


# --- code of another form

STRANGE = [
    ('"""The river', "open('x').read() + '''The river", "'''"),
    ("self.params['coins'] = 2", "self.params['coins'] = len(self.text)", "variable"),
    ("self.params['coins'] = 2", "self.params[3] = 2", "string"),
    ("self.params['coins'] = 2", "self.params['coins'] *= 2", "a text, links"),
    ("self.params['coins'] = 2", "self.coins = 2", "variable"),
    ("self.params['coins'] = 2", "while True: pass", "a text, links"),
    ("self.params['coins'] = 2", "return", "a text, links"),
    ("['coins'] > 0:", "['coins'] > self.params['drank']:", "number"),
    ("np.random.random() * 4", "np.random.random() * 4.5", "random"),
    ("np.random.random() * 4", "os.getpid() * 4", "random"),
    ("['kiosk', 'ferry']", "['kiosk']", "as many actions"),
    ("['kiosk', 'ferry']", "['kiosk', 'fer|ry']", "brackets"),
    ("['Kiosk', 'Ferry']", "['Kiosk', 'Fery']", 'a passage "Fery"'),
    ("['Kiosk', 'Ferry']", "menu()", "list"),
    ('self.methodDict["Swim"]()', 'self.methodDict["Dive"]()', 'a passage "Dive"'),
    ('self.methodDict["Quay"] =', 'self.methodDict["Start"] =', "given once"),
    ("&quot;Tea", "&lt;&lt;set $x = 1&gt;&gt;Tea", "without macros"),
    ("The river", "\\xff river", "UTF-8"),
    ("The river", "\\u2019 river", "UTF-8"),
    ("The river", "\\x07 river", "control"),
    ('if "FINIS" in self.text', 'if len(self.text) > 9', "mark"),
    ('self.current_tiddler = "Start"', 'self.current_tiddler = "Begin"', 'a passage "Begin"'),
    ("return(20)", "return(best())", "number"),
    ('if ending.startswith("You sleep"):', "if len(ending) > 9:", "words in an ending"),
    ('if not """FINIS"""', 'if not """THE LAST"""', "same mark"),
    ("def AssignReward", "def Rewards", "AssignReward"),
    ("class SavingJohnSimulator", "class Another", "SavingJohnSimulator"),
    ('"Wood": playerInput = 2', '"Wood": playerInput = 1', "links that Read shows"),
    ('self.params_path = "Wood"', 'self.params_path = "Moor"', "paths"),
    ("def tiddler6", "def tiddler7", "tiddler6"),
    ("class Machine", "class Machine(", "line"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "why"), STRANGE, ids=[new for _, new, _ in STRANGE])
def test_code_of_another_form_is_refused_with_its_line_and_nothing_is_lost(
    home, imitation, old, new, why
):
    added(imitation)
    before = everything(home)
    assert old in CROSSING
    clone(imitation, CROSSING.replace(old, new, 1))
    with pytest.raises(InputError) as refused:
        added(imitation)
    if why != "'''":
        assert why in str(refused.value)
    assert re.search(r"MySimulator\.py, line \d+: ", str(refused.value)) and "clone" in str(
        refused.value
    )
    assert everything(home) == before


@pytest.mark.parametrize(
    "code",
    [
        "a" + ".a" * 50_000,
        "(" * 5000,
        "-" * 50_000 + "1",
        "(a" + "\n+a" * 50_000 + ")",
        "\"\\'" * 50_000,
        "\0",
    ],
    ids=["names", "brackets", "signs", "lines", "quotes", "nul"],
)
def test_endless_code_is_refused(imitation, code):
    clone(imitation, CROSSING + code + "\n")
    with pytest.raises(InputError):
        added(imitation)


def test_what_cannot_be_played_is_refused_before_it_is_installed(home, imitation):
    clone(imitation, CROSSING.replace("You sleep", "You snore"))
    with pytest.raises(InputError, match=r"cannot be played: saving-john.toml.*snore"):
        added(imitation)
    assert not place.record_path().exists()


def test_cut_and_changed_simulators_are_converted_or_refused_never_more(imitation):
    found = read_sources(imitation, altered=True)
    source = found.files[SIMULATOR]
    draw = random.Random(0)
    for _ in range(150):
        data = bytearray(source)
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        if draw.random() < 0.3:
            del data[draw.randrange(len(data)) :]
        try:
            files = converted(Sources({**found.files, SIMULATOR: bytes(data)}), as_published=False)
        except InputError:
            continue
        assert set(files) == set(converted(found, as_published=False))


# --- pickles

HARMFUL = {
    "a function": b"cos\nsystem\n(S'touch THE_CODE_WAS_RUN'\ntR.",
    "an instance": b"(S'touch THE_CODE_WAS_RUN'\nios\nsystem\n.",
    "a module": b'c__builtin__\neval\n(S\'open("THE_CODE_WAS_RUN", "w")\'\ntR.',
    "the story's class, looked up": b"c__main__\nStoryNode\n.",
    "a newer protocol": b"\x80\x02cos\nsystem\nq\x00X\x05\x00\x00\x00touchq\x01\x85q\x02Rq\x03.",
    "a name in bytes": b"c\xff\nx\n.",
}


@pytest.mark.parametrize("data", HARMFUL.values(), ids=HARMFUL)
def test_a_pickle_that_names_anything_but_the_storys_class_is_refused(tmp_path, imitation, data):
    clone(imitation, story=data)
    with pytest.raises(InputError, match=r"savingjohn\.pickle, byte \d+: .*nothing of it was used"):
        added(imitation)
    assert not place.record_path().exists() and not list(tmp_path.rglob("THE_CODE_WAS_RUN"))


def test_the_error_for_a_refused_name_contains_it():
    with pytest.raises(InputError, match=r'it names "os\.system"'):
        read_pickle(HARMFUL["a function"], "x")


def test_plain_data_comes_out_as_it_went_in():
    data = (
        b"(dp1\nS'a'\np2\n(lp3\nI-7\nag2\nas"
        + written("it’s “x”\n")
        + b"(i__main__\nStoryNode\n(dS'k'\ng3\nsbs."
    )
    assert read_pickle(data, "x") == {"a": [-7, "a"], "it’s “x”\n": Record({"k": [-7, "a"]})}


@pytest.mark.parametrize(
    "data",
    [
        b"", b".", b"(", b"d.", b"a.", b"s.", b"b.", b"(dI1\nI2\ns.", b"(lI1\na", b"I1\nI2\n.", b"I1\n.I2\n.", b"((t.",
        b"Ix\n.", b"I" + b"9" * 10_000 + b"\n.", b"Sabc\n.", b"S'a\n.", b"S'\\xff'\n.", b"S'\\x'\n.", b"g1\n.",
        b"p1\n.", b"(I1\nd.", b"(I1\ni__main__\nStoryNode\n.", b"S'a'(('\n.", b"(dI1\nb.", b"(l(dp1\ng1\ng1\ns.",
    ],
)  # fmt: skip
def test_a_truncated_pickle_is_refused(data):
    with pytest.raises(InputError):
        read_pickle(data, "x")


@pytest.mark.slow
def test_truncated_and_changed_pickles_are_read_or_refused_only(imitation):
    found = read_sources(imitation, altered=True)
    story, draw = pickled_story(GATE, "Door"), random.Random(1)
    for trial in range(400):
        data = bytearray(story)
        for _ in range(draw.randint(1, 3)):
            data[draw.randrange(len(data))] = (
                draw.choice(b"()lditSIVpgas.cbR0\n'\\\x80") if trial % 2 else trial % 256
            )
        if trial % 3 == 0:
            del data[draw.randrange(len(data)) :]
        try:
            converted(
                Sources({**found.files, "simulators/savingjohn.pickle": bytes(data)}),
                as_published=False,
            )
        except InputError as error:
            assert "savingjohn.pickle" in str(error)


@pytest.mark.parametrize(
    "story",
    [
        {"Door": ("Hm.", ["Go."], ["Nowhere"])},
        {"Door": ("Hm.", ["Go.", "Stay."], ["Door"])},
        {"Door": ("[[Go.|Door]]", ["Go."], ["Door"])},
        {"Door": ("Hm.", ["Go|"], ["Door"])},
        {"Do|or": ("Hm.", ["Go."], ["Do|or"])},
        {**GATE, "Gate": ("At the gate", ["Turn back."], ["Door"])},
        {name: node for name, node in GATE.items() if name != "Wood path"},
    ],
)
def test_a_pickled_story_of_another_form_is_refused(imitation, story):
    clone(imitation, story=pickled_story(story, next(iter(story))))
    with pytest.raises(InputError, match=r"savingjohn\.pickle"):
        added(imitation)


@pytest.mark.parametrize("name", ["savingjohn_wordId", "machineofdeath_actionId"])
@pytest.mark.parametrize("data", [b"(lI1\na.", b"(dS'a'\nS'b'\ns.", b"cos\nsystem\n."])
def test_a_vocabulary_must_be_a_table_of_words_and_numbers(imitation, name, data):
    (imitation / "simulators" / f"{name}.pickle").write_bytes(data)
    with pytest.raises(InputError, match=name):
        added(imitation)


@pytest.mark.parametrize(
    "others",
    [b"booth\n", b"booth\n\nNor this.\n", b"\xff\nx\ny\n", b"a\tb\nc\nd\n", b"...\nc\nd\n"],
)
def test_paraphrases_without_their_actions_are_refused(imitation, others):
    (imitation / "simulators" / "machineofdeath_paraphrasedActions.txt").write_bytes(others)
    with pytest.raises(InputError, match=r"machineofdeath_originalActions|paraphrases"):
        added(imitation)


def test_a_file_larger_than_any_published_one_is_not_read_whole(imitation):
    with (imitation / "simulators" / "savingjohn.pickle").open("wb") as file:
        file.truncate(10**9)
    with pytest.raises(InputError, match="more than 4,194,304 bytes"):
        added(imitation)
