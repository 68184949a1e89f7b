"""A stand-in for ScienceWorld: its interface, and a workshop in which the right thing must be focused on."""

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

    def get_variations_train(self):
        return [0, 1, 2, 3, 4]

    def get_variations_dev(self):
        return [5, 6]

    def get_variations_test(self):
        return [7, 8]

    def reset(self):
        # looking around may already pay something
        self.score = 8
        self.moves = 0
        return self._told("This room is called the workshop.")

    def step(self, action):
        self.moves += 1
        right = f"focus on {THINGS[self.variation % 3]}"
        self.score = (
            100
            if action == right
            else -100
            if action.startswith("focus")
            else min(self.score + 1, 50)
        )
        told, infos = self._told(f"You {action}.")
        return told, 0, abs(self.score) == 100 or self.moves > self.limit, infos

    def close(self):
        pass

    def _told(self, observation):
        return observation, {
            "look": f"A workshop ({self.variation}, {self.simplifications}).",
            "inv": "In your inventory, you see: an orange",
            "taskDesc": f"Find the {THINGS[self.variation % 3]}.",
            "valid": ["wait", *(f"focus on {thing}" for thing in THINGS), "look around"],
            "score": self.score,
        }
