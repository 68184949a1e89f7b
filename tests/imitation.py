"""A small imitation of the authors' repository: the same format, with two stories of this project."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab.authors import PUBLISHED, add_games

CROSSING = '''\
# -*- coding: utf-8 -*-
ran = open("THE_CODE_WAS_RUN", "w") # reveals that this code was run

def AssignReward(ending, story = "savingjohn"):
    if story.lower() == "savingjohn":
        if ending.startswith("The lamp is lit."):
            return(20)
        if ending.startswith("You sleep"):
            return(-10)
        if ending.startswith("It's morning"):
            return(5)
    if story.lower() == "machineofdeath":
        if not """FINIS""" in ending:
            return(-0.1)
        if """You swim home.""" in ending:
            return(-10)
        if """Ashore!&quot; shouts the ferryman""" in ending:
            return(10)
        if """The far bank is yours.""" in ending:
            return(20)
    return (0)

class SavingJohnSimulator:
    def Restart(self):
        self.tiddler = self.startTiddler
        self.params_path = ""

    def Read(self):
        if self.storyNode.text.startswith("At the gate"):
            idxTemp = 0
            if self.params_path == "Hill": idxTemp = 1
            elif self.params_path == "Wood": idxTemp = 2
            return (self.storyNode.text, [self.storyNode.actions[i] for i in (0, idxTemp)])
        print >>sys.stderr, 'read %s' % self.tiddler
        return (self.storyNode.text, self.storyNode.actions)

    def Act(self, playerInput):
        print "taken", playerInput
        if self.storyNode.text.startswith("At the gate") and playerInput <> 0:
            if self.params_path == "Hill": playerInput = 1
            elif self.params_path == "Wood": playerInput = 2
        if self.tiddler == "Hill path": self.params_path = "Hill"
        elif self.tiddler == "Wood path": self.params_path = "Wood"
        return

class MachineOfDeathSimulator:
    def __init__(self, doShuffle):
        self.Restart()
        self.methodDict = {}
        self.methodDict["Start"] = self.tiddler0
        self.methodDict["Quay"] = self.tiddler1
        self.methodDict["Kiosk"] = self.tiddler2
        self.methodDict["Ferry"] = self.tiddler3
        self.methodDict["Swim"] = self.tiddler4
        self.methodDict["Don't wait"] = self.tiddler5
        self.methodDict["Ashore"] = self.tiddler6
        self.doShuffle = doShuffle

    def Restart(self):
        self.current_tiddler = "Start"
        self.params = defaultdict(int)

    def Read(self):
        self.text = """"""
        self.methodDict[self.current_tiddler]()
        if "FINIS" in self.text:
            self.actions = []
        return (self.text, self.actions, AssignReward(self.text, "machineofdeath"))

    def tiddler0(self):
        self.params['coins'] = 2
        self.current_links += []
        self.actions += []
        self.methodDict["Quay"]()
        return

    def tiddler1(self):
        self.text += """The river is wide. To the left is a kiosk, and a ferry lies at the quay.\\n\\n"""
        self.current_links += ['Kiosk', 'Ferry']
        self.actions += ['kiosk', 'ferry']
        if self.params['coins'] > 0:
            self.text += """You have """ + str(self.params['coins']) + """ coins."""
        if self.params['coins'] == 0:
            self.text += """Your pockets are empty."""
            self.current_links += ['Swim']
            self.actions += ['&quot;I can swim.\\xe2\\x80\\x9d']
        return

    def tiddler2(self):
        self.text += """&quot;Tea?&quot; You drink it. The cup\\xe2\\x80\\x99s chipped.\\n\\n"""
        if self.params['coins'] > 0:
            self.params['coins'] = self.params['coins'] - 1
        self.params['drank'] = 1
        self.current_links += []
        self.actions += []
        self.methodDict["Quay"]()
        return

    def tiddler3(self):
        self.params['weather'] = int(np.floor(np.random.random() * 4 + 1))
        if self.params['weather'] <= 1 and self.params['drank'] <> 1:
            self.text += """Fog comes down. Wait.\\nGive up.&lt;&lt;endif&gt;&gt;"""
            self.current_links += ['Ferry', "Don't wait"]
            self.actions += ['Wait.', 'Give up.']
        else:
            self.methodDict["Ashore"]()
        return

    def tiddler4(self):
        self.text += """\\nYou swim home.\\n\\n&lt;html&gt;&lt;h1&gt;FINIS&lt;/h1&gt;&lt;/html&gt;"""
        self.current_links += ['Start']
        self.actions += ['Once more?']
        return

    def tiddler5(self):
        self.text += """You jump."""
        self.methodDict["Swim"]()
        return

    def tiddler6(self):
        if self.params['drank'] == 1:
            self.text += """&quot;Ashore!&quot; shouts the ferryman. FINIS"""
        if self.params['drank'] == 0:
            self.text += """The far bank is yours. FINIS"""
        return
'''

GATE = {
    "Door": (
        "The lamp is out.\\nWhich way?",
        ["Take the hill.", "Take the wood.", "Lie down.", "Wait."],
        ["Hill path", "Wood path", "Bed", "Morning"],
    ),
    "Hill path": ("It is steep.", ["Go on."], ["Gate"]),
    "Wood path": ("It is dark, and it\u2019s long.", ["Go on."], ["Gate"]),
    "Gate": (
        "At the gate you think of oil.",
        ["Turn back.", "Use the match.", "Use the flint."],
        ["Door", "Lit", "Bed"],
    ),
    "Lit": ("The lamp is lit. Well done.", [], []),
    "Morning": ("It\u2019s morning.", [], []),
    "Bed": ("You sleep through it all.", [], []),
}


def write_clone(folder: Path, simulator: str = CROSSING) -> Path:
    """Write all files from which the games are converted; return the folder."""
    simulators = folder / "simulators"
    simulators.mkdir(parents=True, exist_ok=True)
    files = {
        "MySimulator.py": simulator.encode("utf-8"),
        "savingjohn.pickle": pickled_story(GATE, "Door"),
        "machineofdeath_originalActions.txt": b"kiosk\nI can swim.\nNobody says this.\n",
        "machineofdeath_paraphrasedActions.txt": b"booth\nI know how to swim.\nNor this.\n",
    }
    for name, data in files.items():
        (simulators / name).write_bytes(data)
    return folder


@contextmanager
def treat_as_published(folder: Path) -> Iterator[None]:
    """Treat the current files of an imitation as the published ones."""
    hashes = dict(PUBLISHED)
    for name in PUBLISHED:
        if (folder / name).exists():
            data = (folder / name).read_bytes().replace(b"\r\n", b"\n")
            hashes[name] = hashlib.sha256(data).hexdigest()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lab.authors.PUBLISHED", hashes)
        yield


def add_imitation(folder: Path) -> None:
    """Install the games of an imitation."""
    with treat_as_published(folder):
        add_games(folder)


def pickled_story(passages: dict[str, Any], start: str) -> bytes:
    """Pickle a story by protocol 0, as Python 2 pickles instances of old-style classes."""
    nodes = b""
    for name, (text, actions, links) in passages.items():
        fields = pickled_string("text") + pickled_string(text) + b"s"
        for key, words in (("actions", actions), ("links", links)):
            fields += (
                pickled_string(key)
                + b"(l"
                + b"".join(pickled_string(word) + b"a" for word in words)
                + b"s"
            )
        nodes += pickled_string(name) + b"(i__main__\nStoryNode\n(d" + fields + b"bs"
    return b"((d" + nodes + pickled_string(start) + b"p1\nt."


def pickled_string(text: str) -> bytes:
    """Pickle a string as `S'…'`: the repr of its UTF-8 bytes in Python 2."""
    return b"S" + repr(text.encode("utf-8"))[1:].encode("ascii") + b"\n"
