"""The paper's algorithm in a few lines: `python -m drrn.learning.reference`.

The DRRN of He et al. (2016), trained by their Algorithm 1, with PyTorch's own modules and SGD: one
game, one replica, one transition at a time. The letters are the paper's, the numbers in brackets
are those of its equations. The rest of `drrn/` makes the same updates for many replicas at once,
and faster. A test compares them.
"""

import random
import sys
from collections import deque
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from textgames.game.contract import Game, Observation, is_stopped
from textgames.openers import make
from textgames.wording import words

# α of softmax, discount γ, learning rate η
ALPHA = 0.5
GAMMA = 0.9
ETA = 0.001
# transitions kept, transitions drawn after each step, steps an episode
CAPACITY = 10_000
MINI_BATCH = 4
STEPS = 500
# room in the dictionary (the paper's games have 1,762 and 2,258), units of a hidden layer
WORDS = 3_000
HIDDEN = 100

# (s_k, a_k, r_k, s_{k+1} with its actions A_{k+1})
Transition = tuple[str, str, float, Observation]


class DRRN(nn.Module):
    """Two networks encode the state and an action. Q is the inner product of the two vectors."""

    def __init__(self) -> None:
        super().__init__()
        # Words are numbered as they occur; when the dictionary is full, they share numbers.
        self.dictionary: dict[str, int] = {}
        self.state, self.action = (
            nn.Sequential(nn.Linear(WORDS, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, HIDDEN), nn.Tanh())
            for _ in range(2)
        )
        for weights in self.parameters():  # small, so that everything is tried at first
            nn.init.uniform_(weights, -0.1, 0.1)

    def forward(self, s: str, actions: Sequence[str]) -> Tensor:
        """Q(s, aⁱ; Θ) of each action aⁱ."""
        h_s = self.state(self.bag(s))  # (3), (5): h₁ = tanh(W₁ s + b₁), h₂ = tanh(W₂ h₁ + b₂)
        h_a = self.action(torch.stack([self.bag(a) for a in actions]))  # (4), (6): likewise
        return torch.mv(h_a, h_s)  # (7): Q = g(h_s, h_a), the inner product

    def bag(self, text: str) -> Tensor:
        """A text as its bag of words: how often each word of the dictionary occurs in it."""
        known = self.dictionary
        numbers = [known.setdefault(word, len(known) % WORDS) for word in words(text)]
        return torch.bincount(torch.tensor(numbers, dtype=torch.long), minlength=WORDS).float()


@torch.no_grad()
def choose(model: DRRN, page: Observation) -> int:
    """(2), softmax exploration: π(aⁱ | s) = exp(α Q(s, aⁱ)) / Σⱼ exp(α Q(s, aʲ))."""
    return int(torch.multinomial(torch.softmax(ALPHA * model(page.text, page.actions), dim=0), 1))


def learn(model: DRRN, optimiser: torch.optim.Optimizer, transition: Transition) -> None:
    """(1), Q-learning: one step down the gradient of ½ (y - Q(s, a))²."""
    s, a, r, following = transition
    y = torch.tensor(r)  # where s_{k+1} is terminal; otherwise r + γ max Q(s_{k+1}, a')
    if not following.ended:
        y = y + GAMMA * model(following.text, following.actions).detach().max()
    # Back-propagation for a alone, though other actions were shown.
    loss = (y - model(s, [a])).square().sum() / 2
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()  # (8), (9): W ← W + η d ∂Q/∂W and b ← b + η d ∂Q/∂b, where d = y - Q(s, a)


def train(game: Game, episodes: int) -> Iterator[float]:
    """Algorithm 1. Yields the score of each episode, which is the sum of its rewards."""
    memory: deque[Transition] = deque(maxlen=CAPACITY)  # D
    model = DRRN()
    optimiser = torch.optim.SGD(model.parameters(), lr=ETA)
    for episode in range(episodes):
        page = game.reset(seed=episode)
        score = 0.0
        for _ in range(STEPS):
            if page.ended or is_stopped(game):
                break
            taken = choose(model, page)
            following = game.step(taken)
            memory.append((page.text, page.actions[taken], following.reward, following))
            for transition in random.choices(memory, k=MINI_BATCH):
                learn(model, optimiser, transition)
            page = following
            score = score + following.reward
        yield score


def main(name: str = "long-watch", episodes: str = "500") -> None:
    """Learn a game by name, and print how it goes."""
    torch.set_num_threads(1)  # the products are small: more threads mostly wait for each other
    random.seed(0)
    torch.manual_seed(0)
    scores: list[float] = []
    for score in train(make(name), int(episodes)):
        scores.append(score)
        if len(scores) % 100 == 0:
            mean = round(sum(scores[-100:]) / 100, 2)
            print(f"{len(scores)} episodes; mean score of the last 100: {mean}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
