"""A stand-in for Jericho: its interface, and a cave with a lamp and a bat that speaks at random."""

import ctypes
import random
import types
from pathlib import Path

import numpy as np


def _no_model(text):
    raise OSError("[E050] Can't find model 'en_core_web_sm'")


util = types.SimpleNamespace(
    extract_objs=_no_model,
    clean=str.strip,
    recognized=lambda reply: "no such" not in reply,
    verb_usage_count=len,
)


class Thing(ctypes.Structure):
    """An object of the object tree."""

    _fields_ = (
        ("num", ctypes.c_int),
        ("parent", ctypes.c_int),
        ("sibling", ctypes.c_int),
        ("child", ctypes.c_int),
        ("_attr", ctypes.c_byte * 4),
    )
    name = "brass lamp"


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
        self.played: list[str] = []  # commands that were tried
        self.answers: dict[str, bytes] = {}  # to commands
        self.player_obj_num = 2
        self.act_gen = types.SimpleNamespace(templates=["leave", "sing", "hum", "take OBJ"])
        self.effects = {"leave": 1, "sing": 2, "take lamp": 3, "take all": 3}
        self.halting = ""  # the command that halts the interpreter until a reset
        self.halted = 0
        self.frotz_lib = types.SimpleNamespace(
            halted=lambda: self.halted,
            filter_candidate_actions=self.filter_candidate_actions,
            get_narrative_text=lambda: self.answers.get(self.played[-1], b"Done.\nA bat speaks."),
        )
        self.seeds = []

    def seed(self, seed=None):
        self.seeds.append(seed)
        self.current_seed = seed or 12  # 0 means no seed, as in Jericho

    def reset(self):
        self.halted = 0
        self.state = [
            self.current_seed,
            0,
            False,
            0,
        ]  # generator, moves, whether the player has the lamp, score
        return "Welcome to the cave.", {"score": 0}

    def step(self, action):
        generator, moves, has_lamp, score = self.state
        draw = random.Random(generator).randrange(2**30)
        if action == "take lamp":
            has_lamp = True
            score += 5
        if action == "leave":
            score = 10 if has_lamp else -10
        self.state = [draw, moves + 1, has_lamp, score]
        text = f"You {action}. A bat says {draw % 3}."
        if action == "look":
            text = "A cave. There is a brass lantern-lamp here."
        if action.startswith("examine"):
            text = "It is of brass."
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
        actions = {"leave", "wait", "sing", "dance"}
        if not self.state[2]:
            actions.add("take lamp")
        return list(actions)

    def get_world_objects(self, clean=False):
        """Return the cave (1), the player in it (2), and the lamp (3)."""
        self.menu_requests += not clean
        has_lamp = self.state[2]
        world = (Thing * 4)()
        world[1].child = 2
        world[2].parent = 1
        world[2].sibling = 0 if has_lamp else 3
        world[2].child = 3 if has_lamp else 0
        world[3].parent = 2 if has_lamp else 1
        return world

    def _get_special_ram(self):
        return np.zeros(1, np.uint8)

    def filter_candidate_actions(self, commands, valid, effects):
        actions: list[str] = []
        for command in commands.decode().split(";"):
            self.played.append(command)
            if command == self.halting:
                self.halted = 1
                return 0
            effect = self.effects.get(command, 0)
            if effect and not (effect == 3 and self.state[2]):
                effects[128 * len(actions)] = effect
                actions.append(command)
        valid.value = "".join(f"{action};" for action in actions).encode()
        return len(actions)

    def get_state(self):
        generator, moves, has_lamp, score = self.state
        return (
            np.array([moves, has_lamp], np.uint8),
            np.zeros(2, np.uint8),
            0,
            0,
            0,
            0,
            0,
            (generator, 0, 0),
            b"",
            score,
        )

    def set_state(self, state):
        memory, _, *_, generator, _, score = state
        self.state = [generator[0], int(memory[0]), bool(memory[1]), score]

    def get_world_state_hash(self):
        return str(self.state[2])

    def victory(self):
        return self.state[3] == 10

    def game_over(self):
        return self.state[3] < 0
