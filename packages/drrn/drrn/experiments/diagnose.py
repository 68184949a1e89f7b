"""Agents on the diagnostics: a trial trains one agent on one game with one seed, and scores it.

diagnostics.csv       one row for each trial and variant of its game, sorted
work/diagnostics/     rows of finished trials, until they are added to diagnostics.csv
"""

import hashlib
import json
import math
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drrn.experiments.agents import RANDOM
from drrn.experiments.job import Job
from drrn.experiments.results import TRIALS, TRIALS_FILE, Row, commit, read_trials, to_csv
from drrn.playing.evaluation import choose_policy
from drrn.playing.survey import RULES
from drrn.runs.agent import Agent
from drrn.runs.config import settings_for_game
from drrn.runs.scores import RoundScores
from drrn.runs.trainer import Trainer
from drrn.settings import DEPLOYED, STRONG, Flat, Settings, all_settings, recipe_name
from textgames.diagnostics import DIAGNOSTICS
from textgames.diagnostics.diagnostic import Diagnostic
from textgames.files import write
from textgames.game.contract import fingerprint_of
from textgames.intervals import normalised
from textgames.openers import GameSpec

WORK = Path("work") / "diagnostics"


def sizes(episodes: int, *, surveys: bool, per_round: int = 200) -> dict[str, int]:
    """The settings of a number of episodes, in rounds of limited size.

    The survey's episodes are among them, unless too few would be left for training.
    """
    rest = episodes - RULES.episodes
    is_short = rest < RULES.shortest_run
    count = rest if surveys and not is_short else episodes
    rounds = math.ceil(count / per_round)
    training = {"rounds": rounds, "episodes_per_round": math.ceil(count / rounds)}
    return {**training, "survey": False} if is_short else training


def sources_of(names: Collection[str], level: int) -> list[str]:
    """The full names of diagnostics, such as diagnostic:memory/2. Without names, of all."""
    parts = [name.removeprefix("diagnostic:").split("/") for name in names or DIAGNOSTICS]
    sources = [f"diagnostic:{name}/{own[0] if own else level}" for name, *own in parts]
    return list(dict.fromkeys(sources))


def open_diagnostic(source: str) -> Diagnostic:
    game = GameSpec(source).open()
    assert isinstance(game, Diagnostic)
    return game


@dataclass(frozen=True)
class Trial(Job):
    """One agent on one diagnostic, with one seed or several."""

    root: Path
    source: str
    game: str
    settings: Settings
    agent: str
    recipe: str
    digest: str  # identifies the trial: hash of game, agent and settings
    done: bool
    evaluation: int  # episodes of each variant after training
    commit: str
    device: str = "cpu"

    @property
    def name(self) -> str:
        return f"{self.agent}, seed {self.settings.run.seed}"

    @property
    def folder(self) -> Path:
        return self.root / WORK / self.digest

    @property
    def plan(self) -> dict[str, Any]:
        return {"digest": self.digest}

    @property
    def rounds(self) -> int:
        return 0 if self.agent == RANDOM else self.settings.run.rounds

    def is_done(self) -> bool:
        return self.done

    def run(self) -> Iterator[RoundScores]:
        game = open_diagnostic(self.source)
        agent = None
        if self.agent != RANDOM:
            trainer = Trainer(game, self.settings, self.device, recipe=self.recipe)
            yield from trainer.train()
            if self.recipe == "strong":
                # The deployed policy is chosen as in a run with usual settings.
                episodes = STRONG.run.evaluation_episodes
                how = (trainer.agent.alpha, episodes, trainer.model.seeds, trainer.round)
                trainer.deployment = choose_policy(trainer.rollouts, *how)
            agent = trainer.agent
        rows = self._rows(agent, game, "train")
        if game.has_held_out:
            rows += self._rows(agent, open_diagnostic(f"{self.source}/held-out"), "held-out")
        write(self.folder / TRIALS_FILE, to_csv(rows, TRIALS))

    def _rows(self, agent: Agent | None, game: Diagnostic, variant: str) -> list[Row]:
        policy = RANDOM
        low = game.random_score
        scores = [low]
        if agent:
            policy = agent.policy_name(DEPLOYED, otherwise="softmax")  # as in the paper
            evaluations = agent.evaluate(game, policies=[policy], episodes=self.evaluation)
            scores = [each.summary.mean_return for each in evaluations]
        run = self.settings.run
        played = run.rounds * run.episodes_per_round if agent else 0
        rows = []
        for seed, score in zip(run.seeds, scores, strict=True):
            share = normalised(score, low, game.optimum)
            key = (game.key(), game.level, variant, self.agent, seed, played, policy)
            values = (*key, score, low, game.optimum, share, self.digest, self.commit)
            rows.append(dict(zip(TRIALS, values, strict=True)))
        return rows


@dataclass(frozen=True)
class Budget:
    """How much is trained and measured.

    Args:
        seeds: The number of seeds of each agent. Random play has one.
        first_seed: The first seed.
        episodes: The training episodes of each trial, if not those of its game.
        evaluation: The episodes of each variant after training.
        overrides: Settings of all trials.
        side_by_side: Whether one trial trains all seeds.
    """

    seeds: Mapping[str, int]
    first_seed: int = 0
    episodes: int | None = None
    evaluation: int = 500
    overrides: Mapping[str, Any] = field(default_factory=dict)
    side_by_side: bool = False

    def seed_ranges(self, agent: str) -> Iterator[range]:
        """The seeds of each trial of an agent."""
        count = 1 if agent == RANDOM else self.seeds[agent]
        replicas = count if self.side_by_side else 1
        for seed in range(self.first_seed, self.first_seed + count, replicas):
            yield range(seed, seed + replicas)


def trials(
    root: Path, sources: Sequence[str], agents: Mapping[str, Flat], budget: Budget, device: str
) -> list[Trial]:
    """A trial for each game, agent and seed. Those that have rows in the folder are done."""
    digests = {row["digest"] for row in collect(root)}
    common: dict[str, Any] = {"root": root, "commit": commit(), "device": device}
    common |= {"evaluation": budget.evaluation}
    jobs = []
    for game in map(open_diagnostic, sources):
        for name, changes in agents.items():
            for seeds in budget.seed_ranges(name):
                settings = trial_settings(game, changes, budget, seeds)
                digest = digest_of(game, name, settings)
                trial = Trial(
                    source=game.name,
                    game=game.name.removeprefix("diagnostic:"),
                    settings=settings,
                    agent=name,
                    recipe=recipe_name(paper="paper" in changes),
                    digest=digest,
                    done=digest in digests,
                    **common,
                )
                jobs.append(trial)
    return jobs


def trial_settings(game: Diagnostic, changes: Flat, budget: Budget, seeds: range) -> Settings:
    """The settings of a trial. The agent's count more than those of all trials."""
    paper = "paper" in changes
    surveys = {"survey": not paper, **budget.overrides, **changes}["survey"]
    base: dict[str, Any] = dict(sizes(budget.episodes or game.episodes, surveys=surveys))
    base |= {"evaluation_episodes": 1, **budget.overrides}
    base |= {"seed": seeds[0], "replicas": len(seeds)}
    given = {name: value for name, value in changes.items() if name != "paper"}
    return settings_for_game(game, given, paper=paper, base=base)


def digest_of(game: Diagnostic, agent: str, settings: Settings) -> str:
    """The hash that identifies a trial. A new setting at its default does not change it."""
    every = all_settings()
    values = {
        name: value
        for name, value in settings.flat().items()
        if value != every[name].default and not every[name].same_results
    }
    # A setting that published trials were hashed with, and that no longer exists.
    values["most_actions"] = max(20, len(game.reset(0).actions))
    text = json.dumps([game.name, fingerprint_of(game), agent, values], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def collect(root: Path) -> list[Row]:
    """Add the rows of finished trials to diagnostics.csv, and return all its rows.

    The rows are sorted, so that the file does not depend on the order in which trials ended.
    Rows of one game, agent and seed keep their order: the last of them counts.
    """
    path = root / TRIALS_FILE
    files = sorted((root / WORK).glob(f"*/{TRIALS_FILE}"))
    rows = read_trials(path)
    for file in files:
        rows += [row for row in read_trials(file) if row not in rows]
    if files:
        rows.sort(key=lambda row: (row["game"], row["level"], row["agent"], row["seed"]))
        write(path, to_csv(rows, TRIALS))
    for file in files:
        shutil.rmtree(file.parent)
    return rows
