"""Agents on the diagnostics: a trial trains one agent on one game with one seed, and scores it.

diagnostics.csv       one row for each trial and variant of its game; rows are only ever added
work/diagnostics/     rows of finished trials, until they are added to diagnostics.csv
"""

import hashlib
import json
import math
import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from drrn.diagnostics import DIAGNOSTICS
from drrn.diagnostics.diagnostic import Diagnostic
from drrn.files import read_text, write
from drrn.game.contract import fingerprint_of
from drrn.game.make import GameSpec
from drrn.lab.experiments.job import Job
from drrn.lab.experiments.plan import AGENTS, LEVEL, PLAN, READERS, Agents, Scale, Variant
from drrn.lab.experiments.results import TRIALS, TRIALS_FILE, Row, commit, read_trials, to_csv
from drrn.playing.evaluation import choose_policy
from drrn.playing.survey import EPISODES, SHORTEST_RUN
from drrn.runs.agent import Agent
from drrn.runs.config import settings_for_game
from drrn.runs.scores import Round
from drrn.runs.trainer import Trainer
from drrn.settings import DEPLOYED, STRONG, Flat, Settings, all_settings, recipe_name

WORK = Path("work") / "diagnostics"
PUBLISHED: dict[str, int] = PLAN["published"]  # seeds
RANDOM = "random"  # the agent that is not trained
CHOICE = STRONG.run.evaluation_episodes  # by which the deployed policy is chosen, as in a run
EVALUATION = 500  # episodes of each variant after training
ROUND = 200  # training episodes
QUICK = 1_200  # the same in all, with --quick


def share_of(score: float, random_score: float, optimum: float) -> float:
    """Return the normalised score: 0 for random play, 1 for the optimum."""
    return (score - random_score) / (optimum - random_score)


def sizes(episodes: int, *, surveys: bool) -> dict[str, int]:
    """Return the settings of a number of episodes, in rounds of at most 200.

    The survey's episodes are among them, unless too few would be left for training.
    """
    rest = episodes - EPISODES
    is_short = rest < SHORTEST_RUN
    count = rest if surveys and not is_short else episodes
    rounds = math.ceil(count / ROUND)
    training = {"rounds": rounds, "episodes_per_round": math.ceil(count / rounds)}
    return {**training, "survey": False} if is_short else training


def sources_of(names: Collection[str], level: int) -> list[str]:
    """Return the full names of diagnostics, such as diagnostic:memory/2; of all without names."""
    parts = [name.removeprefix("diagnostic:").split("/") for name in names or DIAGNOSTICS]
    sources = [f"diagnostic:{name}/{own[0] if own else level}" for name, *own in parts]
    return list(dict.fromkeys(sources))


def open_diagnostic(source: str) -> Diagnostic:
    game = GameSpec(source).open()
    assert isinstance(game, Diagnostic)
    return game


@dataclass(frozen=True)
class Trial(Job):
    """One agent on one diagnostic with one seed or several; random play has no variant."""

    agent: str = ""
    recipe: str = ""
    digest: str = ""  # identifies the trial: hash of game, agent and settings
    done: bool = False
    column: ClassVar[str] = ""  # rounds are not evaluated

    @property
    def name(self) -> str:
        return f"{self.agent}, seed {self.settings.run.seed}"

    @property
    def folder(self) -> Path:
        return self.root / WORK / self.digest

    def is_done(self) -> bool:
        return self.done

    def run(self) -> Iterator[Round]:
        """Train and score the agent, and store the rows; yield each round."""
        game = open_diagnostic(self.source)
        agent = None
        if self.variant:
            trainer = Trainer(game, self.settings, self.device, recipe=self.recipe)
            yield from trainer.train()
            if self.recipe == "strong":
                how = (trainer.agent.alpha, CHOICE, trainer.model.seeds, trainer.round)
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
            evaluations = agent.evaluate(game, policies=[policy], episodes=EVALUATION)
            scores = [each.summary.mean_return for each in evaluations]
        run = self.settings.run
        played = run.rounds * run.episodes_per_round if agent else 0
        rows = []
        for seed, score in zip(run.seeds, scores, strict=True):
            share = share_of(score, low, game.optimum)
            key = (game.key(), game.level, variant, self.agent, seed, played, policy)
            values = (*key, score, low, game.optimum, share, self.digest, self.commit)
            rows.append(dict(zip(TRIALS, values, strict=True)))
        return rows


def trials(
    root: Path,
    sources: Sequence[str],
    agents: Agents,
    scale: Scale,
    device: str,
    episodes: int | None = None,
) -> list[Trial]:
    """Return a trial for each game, agent and seed; those that have rows in the folder are done.

    `episodes` is the budget of each trial, if it is not the one of its game.
    """
    digests = {row["digest"] for row in collect(root)}
    common: dict[str, Any] = {"root": root, "commit": commit(), "device": device}
    common |= {"final": {}, "hashes": {}}  # of other jobs
    jobs = []
    for game in map(open_diagnostic, sources):
        for name, changes in agents.items():
            count = 1 if name == RANDOM else scale.seeds or PUBLISHED.get(name, STRONG.run.replicas)
            replicas = count if scale.side_by_side else 1
            for seed in range(scale.first_seed, scale.first_seed + count, replicas):
                seeds = range(seed, seed + replicas)
                settings = _settings(game, changes, scale, seeds, episodes)
                digest = _digest(game, name, settings)
                trial = Trial(
                    source=game.name,
                    game=game.name.removeprefix("diagnostic:"),
                    variant=None if name == RANDOM else Variant(job=f"diagnostics-{name}"),
                    settings=settings,
                    agent=name,
                    recipe=recipe_name(paper="paper" in changes),
                    digest=digest,
                    done=digest in digests,
                    **common,
                )
                jobs.append(trial)
    return jobs


def published_trials(root: Path, scale: Scale, device: str) -> list[Trial]:
    """Return the trials of the experiment diagnostics."""
    agents = {name: AGENTS[name] for name in PUBLISHED}
    scale = replace(scale, side_by_side=True)
    jobs = trials(root, sources_of((), LEVEL), agents, scale, device)
    return [job for job in jobs if f"{job.agent} {job.game}" not in PLAN["too_slow"]]


def reading_trials(root: Path, scale: Scale, device: str) -> list[Trial]:
    """Return the trials of the experiment reading."""
    agents = {name: job.changes for name, job in READERS.items()}
    sources = sources_of(PLAN["read_diagnostics"], LEVEL)
    jobs = trials(root, sources, agents, replace(scale, side_by_side=True), device)
    return [job for job in jobs if READERS[job.agent].suits(job.source, vectors=False)]


def _settings(
    game: Diagnostic, changes: Flat, scale: Scale, seeds: range, episodes: int | None
) -> Settings:
    """Return the settings of a trial; the agent's count more than those of all trials."""
    paper = "paper" in changes
    surveys = {"survey": not paper, **scale.overrides, **changes}["survey"]
    budget = episodes or (QUICK if scale.quick else game.episodes)
    base = sizes(budget, surveys=surveys)
    base |= {"evaluation_episodes": 1, **scale.overrides}
    base |= {"seed": seeds[0], "replicas": len(seeds)}
    given = {name: value for name, value in changes.items() if name != "paper"}
    return settings_for_game(game, given, paper=paper, base=base)


def _digest(game: Diagnostic, agent: str, settings: Settings) -> str:
    """The hash that identifies a trial: a new setting at its default does not change it."""
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
    """Add the rows of finished trials to diagnostics.csv, and return all its rows."""
    path = root / TRIALS_FILE
    files = sorted((root / WORK).glob(f"*/{TRIALS_FILE}"))
    rows = read_trials(path)
    new = [row for file in files for row in read_trials(file) if row not in rows]
    if new:
        new.sort(key=lambda row: (row["game"], row["level"], row["agent"], row["seed"]))
        header, _, lines = to_csv(new, TRIALS).partition("\n")
        before = read_text(path) if rows else f"{header}\n"
        write(path, before + lines)
    for file in files:
        shutil.rmtree(file.parent)
    return [*rows, *new]
