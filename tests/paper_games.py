"""Where the paper's games are, if they are: other people's work, which is no part of this repository."""

from pathlib import Path

SHARED = Path(__file__).resolve().parents[2] / "shared" / "games"
ABSENT = "the paper's two games are other people's work and not part of this repository"

# Both of them and both of their imitation, each as FIXTURE/FILE: the fixture `located` opens that folder.
PAPER_GAMES = (
    "shared_games/savingjohn.toml",
    "shared_games/machineofdeath.toml",
    "imitated_games/saving-john.toml",
    "imitated_games/machine-of-death.toml",
)
