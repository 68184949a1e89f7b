"""The published trials of the diagnostics, and those of the experiment reading."""

from pathlib import Path

from drrn.experiments.agents import AGENTS
from drrn.experiments.diagnose import Budget, Trial, sources_of, trials
from drrn.settings import STRONG
from lab.experiments.plan import LEVEL, PLAN, READERS, Scale

PUBLISHED: dict[str, int] = PLAN["published"]  # seeds


def published_trials(root: Path, scale: Scale, device: str) -> list[Trial]:
    agents = {name: AGENTS[name] for name in PUBLISHED}
    jobs = trials(root, sources_of((), LEVEL), agents, _budget(scale, PUBLISHED), device)
    return [job for job in jobs if f"{job.agent} {job.game}" not in PLAN["too_slow"]]


def reading_trials(root: Path, scale: Scale, device: str) -> list[Trial]:
    agents = {name: job.changes for name, job in READERS.items()}
    seeds = dict.fromkeys(agents, STRONG.run.replicas)
    sources = sources_of(PLAN["read_diagnostics"], LEVEL)
    jobs = trials(root, sources, agents, _budget(scale, seeds), device)
    return [job for job in jobs if READERS[job.agent].suits(job.source, vectors=False)]


def _budget(scale: Scale, seeds: dict[str, int]) -> Budget:
    return Budget(
        seeds=dict.fromkeys(seeds, scale.seeds) if scale.seeds else seeds,
        first_seed=scale.first_seed,
        episodes=1_200 if scale.quick else None,
        overrides=scale.overrides,
        side_by_side=True,
    )
