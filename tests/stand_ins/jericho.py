"""A stand-in for Jericho: its interface, and a cave with a lamp and a bat that speaks at random."""

import random
import types
from pathlib import Path


def _no_model(text):
    raise OSError("[E050] Can't find model 'en_core_web_sm'")


util = types.SimpleNamespace(extract_objs=_no_model)


class Word:
    """An entry of a game's dictionary, cut to six letters."""

    def __init__(self, word, noun=False, adjective=False):
        self.word = word
        self.is_noun = noun
        self.is_adj = adjective


class FrotzEnv:
    """An emulator. The second byte of a file is 1 for a known game."""

    def __init__(self, story_file, seed=None):
        self.is_fully_supported = Path(story_file).read_bytes()[1] == 1
        self.bindings = {"name": "cave"} if self.is_fully_supported else {}
        self.menu_requests = 0
        self.seeds = []

    def seed(self, seed=None):
        self.seeds.append(seed)
        self.current_seed = seed or 12  # 0 means no seed, as in Jericho

    def reset(self):
        self.state = (self.current_seed, 0, False, 0)  # generator, moves, has the lamp, score
        return "Welcome to the cave.", {"score": 0}

    def step(self, action):
        generator, moves, has_lamp, score = self.state
        draw = random.Random(generator).randrange(2**30)
        if action == "take lamp":
            has_lamp = True
            score += 5
        if action == "leave":
            score = 10 if has_lamp else -10
        self.state = (draw, moves + 1, has_lamp, score)
        text = f"You {action}. A bat says {draw % 3}."
        if action == "look":
            text = "A cave. There is a brass lantern-lamp here."
        if action == "inventory":
            text = f"lamp: {has_lamp}"
        return text, 0, False, {"score": score}

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
        self.menu_requests += 1
        self.objects = util.extract_objs("There is a brass lantern here.")
        self.step("look")  # Jericho changes the state, too
        return ["leave", "wait", "sing", "dance", *([] if self.state[2] else ["take lamp"])]

    def get_state(self):
        return self.state

    def set_state(self, state):
        self.state = state

    def get_world_state_hash(self):
        return str(self.state[2])

    def victory(self):
        return self.state[3] == 10

    def game_over(self):
        return self.state[3] < 0
