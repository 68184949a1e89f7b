"""Jobs on a Ray cluster: the same rows as on one machine, even if a worker dies."""

import argparse
import importlib.util
import os
import re
import sys
from pathlib import Path

import pytest

import drrn
from drrn.cli.jobs import workers_for
from drrn.experiments.workers import LOCAL, RayCluster, run_job
from drrn.runs.config import versions
from lab.experiments.job import Job, hashes_of
from lab.experiments.plan import TABLE, Scale, settings_of
from lab.experiments.results import Results
from textgames import registry
from textgames.errors import InputError

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="ray is not installed: pip install ray"
)
# before the first import of Ray
os.environ |= {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
TINY = {"rounds": 4, "episodes_per_round": 20, "evaluation_episodes": 4}


FRAGILE = """
import os, pathlib, signal
import drrn

class Game:
    name = "fragile"

    def reset(self, seed=None):
        self.seed = seed
        self.steps = 0
        return drrn.Observation("here", ("on", "off"))

    def step(self, index):
        self.steps += 1
        if pathlib.Path("die").exists():
            pathlib.Path("die").unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        done = self.steps == 1 + self.seed % 3
        return drrn.Observation("there", () if done else ("on", "off"), float(index))
"""


def job_for(root, source="long-watch"):
    game = drrn.make(source)
    settings = settings_of(source, TABLE, game, Scale(seeds=1, overrides=TINY))
    final = {"softmax": 20, "greedy": 10}
    return Job(root, source, game.name, TABLE, settings, final, hashes_of(game), "a commit")


def rows(root):
    return {path.name: path.read_text() for path in sorted(root.glob("rows/*/*.csv"))}


@pytest.mark.full
@needs_ray
def test_a_job_whose_worker_dies_starts_again_and_has_the_rows_of_one_machine(
    tmp_path, import_folder
):
    """The first worker of a local cluster that takes a step is killed."""
    (tmp_path / "fragile.py").write_text(FRAGILE)
    registry.trust("fragile:Game")
    list(job_for(tmp_path / "here", "fragile:Game").run())
    Path("die").touch()
    before = set(Path("/tmp").glob("drrn-*"))
    with RayCluster(LOCAL, 2) as cluster:
        events = list(cluster.run([job_for(tmp_path / "there", "fragile:Game")]))
    assert [event.why for event in events if event.kind == "lost"] == [
        "its worker was lost (WorkerCrashedError)"
    ]
    assert events[-1].kind == "done"
    assert rows(tmp_path / "there") == rows(tmp_path / "here")
    assert not set(Path("/tmp").glob("drrn-ray-*")) - before


def test_an_interrupted_job_continues_in_a_worker(tmp_path):
    next(job_for(tmp_path / "there").run())
    job = job_for(tmp_path / "there")
    events = list(run_job(job, versions(), tmp_path))
    assert [(event.kind, event.rounds) for event in events][1:3] == [("round", 2), ("round", 3)]
    list(job_for(tmp_path / "here").run())
    assert rows(tmp_path / "there") == rows(tmp_path / "here")
    assert Results(job.root).load("long-watch", "table")
    assert not (job.folder / "checkpoint.safetensors").exists()


def test_a_worker_with_other_package_versions_fails_its_job(tmp_path):
    _, last = run_job(job_for(tmp_path), {**versions(), "numpy": "0.1"}, tmp_path)
    assert last.kind == "failed"
    assert f"has numpy {versions()['numpy']}, but" in last.why
    assert "numpy 0.1" in last.why


@needs_ray
@pytest.mark.parametrize(
    "address",
    "nonsense ray://head:10001 head:port 127.0.0.1:9 127.0.0.1:99999 nowhere.invalid:6379".split(),
)
def test_an_address_without_a_cluster_is_refused_even_without_jobs(address):
    with pytest.raises(InputError, match=re.escape(address)):
        workers_for(argparse.Namespace(ray=address, device="cpu", jobs=None))


@pytest.mark.parametrize(
    ("device", "fact"), [("cpu", "pip install ray"), ("cuda", "--device cuda")]
)
def test_without_ray_or_with_a_cuda_device_the_error_names_the_cause(device, fact, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=re.escape(fact)):
        workers_for(argparse.Namespace(ray="", device=device, jobs=None))
