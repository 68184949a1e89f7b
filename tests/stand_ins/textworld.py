"""A stand-in for TextWorld: its interface, and two rooms with an apple to eat."""

from pathlib import Path

PARTS = {"description", "inventory", "feedback", "objective"}
PARTS |= {"admissible_commands", "score", "won", "lost"}


class EnvInfos:
    """Parts of the state that are requested."""

    def __init__(self, **parts):
        assert set(parts) <= PARTS
        self.parts = set(parts)


def start(path, request_infos):
    if not Path(path).read_bytes().startswith(b"\x08"):
        raise ValueError(f"Unsupported game format: {path}")
    return Environment(request_infos.parts)


class Environment:
    """A running game."""

    def __init__(self, parts):
        self.parts = parts

    def reset(self):
        self.room = "attic"
        self.apple = self.won = self.lost = False
        self.score = self.moves = 0
        return self._state("Welcome.")

    def step(self, command):
        self.moves += 1
        if command in ("go down", "go up"):
            self.room = "cellar" if command == "go down" else "attic"
        if command == "take apple":
            self.apple = True
            self.score += 1
        if command == "eat apple":
            self.won = True
            self.score += 2
        self.lost = command == "drop apple"
        return self._state(f"You {command}."), self.score, self.won or self.lost

    def close(self):
        pass

    def _state(self, feedback):
        lies_here = self.room == "cellar" and not self.apple
        apple = " An apple lies here." if lies_here else ""
        actions = ["look", "go down" if self.room == "attic" else "go up"]
        actions += ["eat apple", "drop apple"] if self.apple else ["take apple"] * lies_here
        state = {
            "feedback": f"{feedback}\n\n>                         -= Room =-{self.score}/{self.moves}",
            "description": f"-= {self.room.title()} =-\nYou are in the {self.room}.{apple}",
            "inventory": f"You are carrying {'an apple' if self.apple else 'nothing'}.",
            "objective": "Eat the apple.",
            "admissible_commands": actions,
            "score": self.score,
            "won": self.won,
            "lost": self.lost,
        }
        return {key: value for key, value in state.items() if key in self.parts}
