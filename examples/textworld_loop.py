"""Let a trained agent play in TextWorld's own loop.

tw-make tw-coin_collector --level 5 --seed 3 --output coin.z8
drrn train textworld:coin.z8 --out runs/coin
python examples/textworld_loop.py runs/coin coin.z8 [EPISODES]
"""

import sys

import textworld.gym

import drrn


def main(run: str, game: str, episodes: int = 3) -> None:
    infos = textworld.EnvInfos(description=True, inventory=True, admissible_commands=True)
    env = textworld.gym.make(textworld.gym.register_game(game, infos, max_episode_steps=100))
    player = drrn.load(run).policy("best")  # remembers the pages of the episode
    for episode in range(1, episodes + 1):
        _, state = env.reset()
        player.begin()
        done = False
        score = 0
        reward = 0
        commands = []
        while not done:
            # what the agent saw during training
            text = f"{state['description']}\n{state['inventory']}"
            commands.append(player.act(text, state["admissible_commands"], reward))
            before = score
            _, score, done, state = env.step(commands[-1])
            reward = score - before
        print(
            f"episode {episode}: score {score} after {len(commands)} commands: "
            f"{', '.join(commands[:8])} …"
        )
    env.close()


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:4]))
