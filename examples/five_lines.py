"""Open a game, train an agent, and ask for its Q-values.

python examples/five_lines.py [GAME] [ROUNDS]
"""

import sys

import drrn


def main(name: str = "long-watch", rounds: int = 3) -> None:
    game = drrn.make(name)
    trainer = drrn.trainer(game, rounds=rounds, replicas=2)
    for finished in trainer.train():
        print("round", finished.number, round(finished.score("softmax"), 1))
    page = game.reset(seed=0)
    q = trainer.agent.ask(page.text, page.actions).mean(axis=0)  # over replicas
    print(page.text)
    for action, value in zip(page.actions, q, strict=True):
        print(f"{value:6.2f}  {action}")


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
