"""A stand-in for ScienceWorld: its interface, and a workshop with three things to focus on."""

THINGS = ("plant", "stone", "bird")


class ScienceWorldEnv:
    """One environment."""

    def __init__(self, task, serverPath=None, envStepLimit=100):  # noqa: N803
        self.limit = envStepLimit
        self.loads = 0

    def get_task_names(self):
        return ["boil", "find-plant"]

    def get_max_variations(self, task):
        return 9

    def load(self, task, variation, simplifications):
        self.task = task
        self.variation = variation
        self.simplifications = simplifications
        self.loads += 1
        self._start()

    def get_variations_train(self):
        return [0, 1, 2, 3, 4]

    def get_variations_dev(self):
        return [5, 6]

    def get_variations_test(self):
        return [7, 8]

    def reset(self):
        self.loads += 1  # it generates the whole world, as `load` does
        self._start()
        observation, _, _, infos = self.step("look around")
        return observation, infos

    def _start(self):
        self.score = 7  # the first look may already score
        self.moves = -1

    def step(self, action):
        self.moves += 1
        right = f"focus on {THINGS[self.variation % 3]}"
        if action == right:
            self.score = 100
        elif action.startswith("focus"):
            self.score = -100
        else:
            self.score = min(self.score + 1, 50)
        text = f"You {action}." if self.moves else "This room is called the workshop."
        observation, infos = self._result(text)
        return observation, 0, abs(self.score) == 100 or self.moves > self.limit, infos

    def close(self):
        pass

    def _result(self, observation):
        return observation, {
            "look": f"A workshop ({self.variation}, {self.simplifications}).",
            "inv": "In your inventory, you see: an orange",
            "taskDesc": f"Find the {THINGS[self.variation % 3]}.",
            "valid": ["wait", *(f"focus on {thing}" for thing in THINGS), "look around"],
            "score": self.score,
        }
