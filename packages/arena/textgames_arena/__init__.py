"""Players of exactly solved games, and what each of their decisions costs."""

from pathlib import Path

COMMANDS = Path(__file__).with_name("commands.toml")  # here, since --help of all programs loads it
