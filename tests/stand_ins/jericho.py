"""A stand-in for Jericho: its interface, and a cave with a lamp, whose generator of chance a seed starts."""

import random
import types
from pathlib import Path

import numpy as np


def _no_model(text):
    raise OSError("[E050] Can't find model 'en_core_web_sm'")


util = types.SimpleNamespace(extract_objs=_no_model)


class Word:
    """An entry of a game's dictionary, which keeps six letters."""

    def __init__(self, word, noun=False, adjective=False):
        self.word = word
        self.is_noun = noun
        self.is_adj = adjective


class FrotzEnv:
    """An emulator. What a file's second byte says: 1, a game that it knows."""

    def __init__(self, story_file, seed=None):
        self.is_fully_supported = Path(story_file).read_bytes()[1] == 1
        self.bindings = {"name": "cave"} if self.is_fully_supported else {}
        self.asked = 0
        self.seeds = []

    def seed(self, seed=None):
        self.seeds.append(seed)
        self.chosen = seed or 12  # 0 counts as none, as in the real one

    def reset(self):
        self.state = [self.chosen, 0, False, 0]  # chance, moves, whether the lamp is taken, score
        return "Welcome to the cave.", {"score": 0}

    def step(self, action):
        chance, moves, taken, score = self.state
        draw = random.Random(chance).randrange(2**30)
        self.state = [
            draw,
            moves + 1,
            taken or action == "take lamp",
            score + 5 * (action == "take lamp"),
        ]
        if action == "leave":
            self.state[3] = 10 if taken else -10
        told = {
            "look": "A cave. There is a brass lantern-lamp here.",
            "inventory": f"lamp: {taken}",
        }
        return (
            told.get(action, f"You {action}. A bat says {draw % 3}."),
            0,
            False,
            {"score": self.state[3]},
        )

    def close(self):
        pass

    def get_dictionary(self):
        return [
            Word("lamp", noun=True),
            Word("brass", adjective=True),
            Word("there"),
            Word("lanter", noun=True),
        ]

    def get_valid_actions(self, use_parallel=True):
        assert not use_parallel, "a pool of processes for each environment"
        self.asked += 1
        self.found = util.extract_objs("There is a brass lantern here.")
        self.step("look")  # the real one leaves its traces in the state
        actions = {"leave", "wait", "sing", "dance"} | (set() if self.state[2] else {"take lamp"})
        return list(actions)

    def get_state(self):
        chance, moves, taken, score = self.state
        return (
            np.array([moves, taken], np.uint8),
            np.zeros(2, np.uint8),
            0,
            0,
            0,
            0,
            0,
            (chance, 0, 0),
            b"",
            score,
        )

    def set_state(self, state):
        memory, _, *_, chance, _, score = state
        self.state = [chance[0], int(memory[0]), bool(memory[1]), score]

    def get_world_state_hash(self):
        return str(self.state[2])

    def victory(self):
        return self.state[3] == 10

    def game_over(self):
        return self.state[3] < 0
