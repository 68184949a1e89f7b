"""A stand-in for TextWorld: its interface, and two rooms with an apple to eat."""

from pathlib import Path

STATUS = "\n\n>                         -= Room =-{score}/{moves}"


class EnvInfos:
    """Parts of the state that are requested."""

    def __init__(self, **parts):
        allowed = {
            "description",
            "inventory",
            "feedback",
            "objective",
            "admissible_commands",
            "score",
            "won",
            "lost",
        }
        assert set(parts) <= allowed
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
        self.has_apple = False
        self.score = 0
        self.moves = 0
        self.won = False
        self.lost = False
        return self._state("Welcome.")

    def step(self, command):
        self.moves += 1
        if command == "go down":
            self.room = "cellar"
        if command == "go up":
            self.room = "attic"
        if command == "take apple":
            self.has_apple = True
            self.score = self.score + 1
        if command == "eat apple":
            self.won = True
            self.score = self.score + 2
        self.lost = command == "drop apple"
        return self._state(f"You {command}."), self.score, self.won or self.lost

    def close(self):
        pass

    def _state(self, feedback):
        commands = ["look", "go down" if self.room == "attic" else "go up"]
        if self.has_apple:
            commands += ["eat apple", "drop apple"]
        elif self.room == "cellar":
            commands.append("take apple")
        state = {
            "feedback": feedback + STATUS.format(score=self.score, moves=self.moves),
            "description": f"-= {self.room.title()} =-\nYou are in the {self.room}.",
            "inventory": f"You are carrying {'an apple' if self.has_apple else 'nothing'}.",
            "objective": "Eat the apple.",
            "admissible_commands": commands,
            "score": self.score,
            "won": self.won,
            "lost": self.lost,
        }
        return {key: value for key, value in state.items() if key in self.parts}
