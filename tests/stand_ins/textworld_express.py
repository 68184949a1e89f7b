"""A stand-in for TextWorldExpress: its interface, and three rooms with a coin in one.

The game "sorting" has a rope of 23mm. The game "trouble" has actions that hang, end the process or fail;
"quiet" lists none in the hall.
"""

import os
import signal
import time

ROOMS = ("kitchen", "hall", "garden")
PROPERTIES = ("numLocations", "includeDoors")


class TextWorldExpressEnv:
    """One environment."""

    def __init__(self, serverPath=None, envStepLimit=100):  # noqa: N803
        self.limit = envStepLimit
        self.closed = False

    def getGameNames(self):  # noqa: N802
        return ["coin", "cookingworld", "quiet", "sorting", "trouble"]

    def load(self, game, parameters):
        self.game = game
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
        self.seed = seed
        self.fold = gameFold
        self.room = 0
        self.steps = 0
        self.score = 0.0
        self.lost = False
        return self._result("You wake up.", done=False)

    def step(self, action):
        if action == "hang":
            time.sleep(3600)
        if action == "die":
            os.kill(os.getpid(), signal.SIGKILL)
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

    def close(self):
        self.closed = True

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
