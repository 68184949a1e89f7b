"""A stand-in for TextWorldExpress: its interface, and three rooms with a coin in one.

The game "sorting" has a rope of 23mm. The game "trouble" has actions that hang, kill Java or fail; "quiet" lists
none in the hall, and "stuck" cannot be loaded.
"""

import contextlib
import weakref
from subprocess import PIPE, Popen
from typing import Any

ROOMS = ("kitchen", "hall", "garden")
PROPERTIES = ("numLocations", "includeDoors")


def close_pipes(process):
    """Close the connections to a process, which then ends."""
    process.stdout.close()
    with contextlib.suppress(OSError):  # the process has ended
        process.stdin.close()
    process.wait()


class TextWorldExpressEnv:
    """One environment."""

    def __init__(self, serverPath=None, envStepLimit=100):  # noqa: N803
        self.limit = envStepLimit
        # It exits when its input ends.
        self.java: Any = Popen(["java"], stdin=PIPE, stdout=PIPE)
        self.close = weakref.finalize(self, close_pipes, self.java)

    def getGameNames(self):  # noqa: N802
        return ["coin", "cookingworld", "quiet", "sorting", "stuck", "trouble"]

    def load(self, game, parameters):
        self.game = game
        if game == "stuck":
            self._ask_java(question=b"")
        for pair in filter(None, parameters.split(",")):
            key = pair.split("=")[0]
            if key not in PROPERTIES:
                names = ", ".join(PROPERTIES)
                raise ValueError(
                    f"Unrecognized property name ({key}).  Known properties: {names}. "
                )

    def getValidSeedsTrain(self):  # noqa: N802
        return list(range(100))

    def getValidSeedsDev(self):  # noqa: N802
        return list(range(1000, 1100))

    def getValidSeedsTest(self):  # noqa: N802
        return list(range(2000, 2100))

    def reset(self, seed=None, gameFold=None):  # noqa: N803
        self._ask_java()
        self.seed = seed
        self.fold = gameFold
        self.room = 0
        self.steps = 0
        self.score = 0.0
        self.lost = False
        return self._result("You wake up.", done=False)

    def step(self, action):
        if action == "die":
            self.java.kill()
        self._ask_java(question=b"" if action == "hang" else b"\n")
        if action == "fail":
            raise RuntimeError("the simulator is confused")
        self.steps += 1
        self.room += {"move east": 1, "move west": -1}.get(action, 0)
        if action == "take coin":
            self.score = 1.0
        elif self.room == 2 or action == "take 23mm of rope":
            self.score = 0.5
        self.lost = action == "eat coin"
        done = self.steps > self.limit or self.lost or self.score >= 1
        observation, infos = self._result(f"You {action}.", done)
        return observation, 0.0, done, infos

    def _ask_java(self, question=b"\n"):
        """Send a question and wait for the answer."""
        self.java.stdin.write(question)
        self.java.stdin.flush()
        if not self.java.stdout.readline():
            raise ConnectionError("Java does not answer")

    def _result(self, observation, done):
        actions = {
            "look around",
            *(["move west"] if self.room else []),
            *(["move east"] if self.room < 2 else []),
        }
        actions |= {"take coin", "eat coin"} if self.room == self.seed % 3 else set()
        actions |= {"take 23mm of rope"} if self.game == "sorting" else set()
        actions |= {"hang", "die", "fail"} if self.game == "trouble" else set()
        if self.game == "quiet" and self.room == 1:
            actions = set()
        return observation, {
            "observation": observation,
            "look": f"You are in the {ROOMS[self.room]} of house {self.seed} ({self.fold}).\n\n\n",
            "inventory": "Your inventory is empty.",
            "taskDescription": "Find the coin.",
            "validActions": list(actions),
            "score": self.score,
            "tasksuccess": self.score >= 1,
            "taskfailure": self.lost,
            "done": done,
        }
