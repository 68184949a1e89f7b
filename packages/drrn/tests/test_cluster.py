"""Jobs on a Ray cluster: the same rows as on one machine, even if a worker dies."""

import argparse
import importlib.util
import os
import re
import sys
from pathlib import Path

import pytest

import drrn
from drrn.cli import main
from drrn.cli.jobs import workers_for
from drrn.experiments.cluster import run_job
from drrn.runs.config import versions
from lab.experiments.job import Job, hashes_of
from lab.experiments.plan import TABLE, Scale, settings_of
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


def job_for(root):
    game = drrn.make("long-watch")
    settings = settings_of("long-watch", TABLE, game, Scale(seeds=1, overrides=TINY))
    final = {"softmax": 20, "greedy": 10}
    return Job(
        root, "long-watch", "long-watch", TABLE, settings, final, hashes_of(game), "a commit"
    )


def rows(root):
    paths = sorted((root / "rows/long-watch").glob("*.csv"))
    return {path.name: path.read_text() for path in paths}


@pytest.mark.full
@needs_ray
def test_a_job_whose_worker_dies_starts_again_and_has_the_rows_of_one_machine(
    tmp_path, import_folder, capfd
):
    """The first of two workers of a local cluster that takes a step is killed."""
    (tmp_path / "fragile.py").write_text(FRAGILE)
    command = "sweep fragile:Game --paper --vary alpha=0.5,1 --seeds 1 --report-seeds 1".split()
    command += "--set rounds=3 episodes_per_round=8 evaluation_episodes=4 --out".split()
    assert main([*command, "here", "--jobs", "1"]) == 0
    Path("die").touch()
    before = set(Path("/tmp").glob("drrn-*"))
    assert main([*command, "there", "--jobs", "2", "--ray"]) == 0
    output = capfd.readouterr()
    assert output.out.count("its worker was lost (WorkerCrashedError); restarted") == 1
    assert "ray" not in output.err.lower()  # its log does not reach the terminal
    local_paths = sorted(path.relative_to("here") for path in Path("here").rglob("*"))
    assert local_paths == sorted(path.relative_to("there") for path in Path("there").rglob("*"))
    results = [path for path in local_paths if path.suffix in (".csv", ".safetensors")]
    paths = [path for path in results if path.name != "progress.csv"]  # it has seconds
    assert len(paths) == 4 * len(("evaluations", "model")) + len(("sweep.csv",))
    for path in paths:
        assert Path("here", path).read_bytes() == Path("there", path).read_bytes()
    assert not set(Path("/tmp").glob("drrn-ray-*")) - before


def test_an_interrupted_job_continues_on_another_machine(tmp_path):
    list(job_for(tmp_path / "here").run())
    work = job_for(tmp_path / "there")
    next(work.run())
    events = list(run_job(work, versions(), tmp_path))
    assert [(each.kind, each.rounds) for each in events[:2]] == [("started", 0), ("round", 2)]
    assert events[-1].kind == "done"
    assert rows(work.root) == rows(tmp_path / "here")


def test_a_worker_with_other_package_versions_or_folders_fails_its_job(tmp_path):
    _, last = run_job(job_for(tmp_path), {**versions(), "numpy": "0.1"}, tmp_path)
    assert last.kind == "failed"
    assert f"has numpy {versions()['numpy']}, but" in last.why and "numpy 0.1" in last.why
    _, last = run_job(job_for(tmp_path / "other"), versions(), tmp_path)
    assert last.kind == "failed" and "share" in last.why


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
