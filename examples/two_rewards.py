"""Train a linear policy with two rewards: the game's own, and the exact advantage of a decision.

    python examples/two_rewards.py                    takes about a minute
    python examples/two_rewards.py --picture two.svg  also draws the scores
    python examples/two_rewards.py --game night-market --episodes 3000

Both learn by REINFORCE with the same features and the same rate. With the game's own rewards, a
decision is judged by all rewards that follow it. The advantage, A*(s, a) = Q*(s, a) - max Q*, is
computed from the solved game and judges each decision by itself. Scores are normalised: 0 is random
play, 100 is best play.
"""

import argparse
import zlib

import numpy as np

import drrn
from textgames.compiled.oracle import solve_game
from textgames.notebook import Line, Picture, curve
from textgames_arena.match import Match

SIZE = 2**14  # features
FIRST_SEED = 1000
TEST_SEED = 10**9  # seeds of training are smaller


class Policy:
    """Softmax over w·φ(page, action); φ is the hashed pairs of their words."""

    def __init__(self, seed):
        self.weights = np.zeros(SIZE)
        self.random = np.random.default_rng(seed)
        self.cache = {}

    def features(self, text, action):
        """Return the indices of the features of a page and an action."""
        if (text, action) not in self.cache:
            words = {"", *text.lower().split()}
            pairs = [f"{one} {other}" for one in words for other in set(action.lower().split())]
            hashes = [zlib.crc32(pair.encode()) % SIZE for pair in pairs]
            self.cache[text, action] = np.array(hashes)
        return self.cache[text, action]

    def probabilities(self, page):
        q = [self.weights[self.features(page.text, action)].mean() for action in page.actions]
        weights = np.exp(np.array(q) - max(q))
        return weights / weights.sum()

    def play(self, match, seed):
        """Play an episode; yield the page and the choice of each decision."""
        match.start(seed)
        while not match.over:
            page = match.page
            index = int(self.random.choice(len(page.actions), p=self.probabilities(page)))
            match.decide(index)
            yield page, index

    def update(self, page, index, gain):
        """Follow the gradient of gain × log π(action | page)."""
        p = self.probabilities(page)
        for number, action in enumerate(page.actions):
            features = self.features(page.text, action)
            slope = gain * ((number == index) - p[number])
            np.add.at(self.weights, features, slope / np.sqrt(len(features)))


def train(game, rewards, options, seed):
    """Return the normalised score of the policy after equal parts of the episodes."""
    policy = Policy(seed)
    match = Match(game)
    baseline = 0.0
    spread = 1.0
    scores = []
    for number in range(options.episodes):
        steps = []
        gains = []
        for step in policy.play(match, options.episodes * seed + number):
            steps.append(step)
            gains.append(match.reward(rewards))
        if rewards == "game":
            gains = np.cumsum(gains[::-1])[::-1]
        for (page, index), gain in zip(steps, gains, strict=True):
            policy.update(page, index, options.rate * (gain - baseline) / spread)
            baseline += 0.01 * (gain - baseline)
            spread = max(spread + 0.01 * (abs(gain - baseline) - spread), 1e-3)
        if (number + 1) % (options.episodes // options.points) == 0:
            scores.append(score(policy, match))
    return scores


def score(policy, match, episodes=100):
    """Return the normalised score without luck: best play minus the regrets."""
    regret = 0.0
    for seed in range(TEST_SEED, TEST_SEED + episodes):
        for _ in policy.play(match, seed):
            pass
        regret += match.result().regret / episodes
    game = match.game
    return 100 * (game.best - regret - game.random) / (game.best - game.random)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Train with the game's rewards and with A*.")
    parser.add_argument("--game", default="long-watch")
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--points", type=int, default=5, help="columns of the table")
    parser.add_argument("--picture", metavar="FILE.svg", help="draw the scores")
    options = parser.parse_args(arguments)
    if not 1 <= options.points <= options.episodes:
        parser.error("--points must be between 1 and --episodes")
    game = solve_game(drrn.make(options.game))
    print(f"{game.title}: random play {game.random:.2f}, best play {game.best:.2f}")
    numbers = [(p + 1) * options.episodes // options.points for p in range(options.points)]
    print("episodes   " + "".join(f"{number:8}" for number in numbers))
    final = {}
    lines = []
    for rewards in ("game", "advantage"):
        seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
        scores = [train(game, rewards, options, seed) for seed in seeds]
        means = np.mean(scores, axis=0)
        print(f"{rewards:<11}" + "".join(f"{mean:8.0f}" for mean in means), flush=True)
        final[rewards] = float(means[-1])
        lines.append(Line(rewards, numbers, means.tolist(), np.std(scores, axis=0).tolist()))
    if options.picture:
        title = f"{game.title}: normalised score by kind of reward"
        picture = curve(title, lines, {"random": 0.0, "best": 100.0})
        Picture(picture, title).save(options.picture)
    return final


if __name__ == "__main__":
    main()
