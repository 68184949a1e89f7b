"""Paths of the paper's games, which are not part of this repository, and of their imitation."""

from pathlib import Path

PAPER_GAMES_FOLDER = Path(__file__).resolve().parents[2] / "shared" / "games"

# Each game as FIXTURE/FILE; the fixture `game_path` resolves it.
PAPER_GAMES = (
    "shared_games/savingjohn.toml",
    "shared_games/machineofdeath.toml",
    "imitated_games/saving-john.toml",
    "imitated_games/machine-of-death.toml",
)
