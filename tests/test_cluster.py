"""Jobs on a Ray cluster: the same rows as on one machine, also where a machine is lost."""

import argparse
import importlib.util
import os
import socket
import sys
from pathlib import Path

import pytest

import drrn
from drrn.cli import jobs, main
from drrn.cli.jobs import Display, workers_for
from drrn.errors import InputError
from drrn.lab.experiments import cluster as ray_jobs
from drrn.lab.experiments.cluster import check_cluster, read_files, run_job
from drrn.lab.experiments.job import Job, hashes_of
from drrn.lab.experiments.plan import TABLE, Scale, settings_of
from drrn.lab.experiments.results import Results
from drrn.runs.config import versions

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="ray is not installed: drrn[ray]"
)
os.environ |= {
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
}  # before Ray is first imported
TINY = {"rounds": 4, "episodes_per_round": 20, "evaluation_episodes": 4}


FRAGILE = """
import os, pathlib, signal
import drrn

class Game:
    name = "fragile"

    def reset(self, seed=None):
        self.seed, self.steps = seed, 0
        return drrn.Observation("here", ("on", "off"))

    def step(self, index):
        self.steps += 1
        if pathlib.Path("die").exists():
            pathlib.Path("die").unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        done = self.steps == 1 + self.seed % 3
        return drrn.Observation("there", () if done else ("on", "off"), float(index))
"""


def job_for(root, variant=TABLE, **more):
    game = drrn.make("long-watch")
    settings = settings_of("long-watch", variant, game, Scale(seeds=1, overrides={**TINY, **more}))
    final = {"softmax": 20, "greedy": 10}
    return Job(
        root, "long-watch", "long-watch", variant, settings, final, hashes_of(game), "a commit"
    )


def rows(root):
    return {
        path.name: path.read_text() for path in sorted((root / "rows/long-watch").glob("*.csv"))
    }


def done_here(jobs):
    for job in jobs:
        list(job.run())


@needs_ray
def test_a_lost_workers_jobs_are_done_again_with_the_rows_of_one_machine(
    tmp_path, import_folder, monkeypatch, capfd
):
    """Two workers of a local cluster; the one that comes to a certain step first is killed there."""
    (tmp_path / "fragile.py").write_text(FRAGILE)
    command = [
        "sweep",
        "fragile:Game",
        "--paper",
        "--vary",
        "alpha=0.5,1",
        "--seeds",
        "1",
        "--report-seeds",
        "1",
    ]
    command += ["--set", "rounds=3", "episodes_per_round=8", "evaluation_episodes=4", "--out"]
    assert main([*command, "here", "--jobs", "1"]) == 0
    Path("die").touch()
    before = set(Path("/tmp").glob("drrn-*"))

    class Reachable(Display):
        """Asks at the beginning whether others could join the cluster that was started."""

        def __init__(self, *arguments):
            super().__init__(*arguments)  # joins the cluster
            import ray

            if not joined:
                joined.append(ray.get_runtime_context().gcs_address)
                check_cluster(joined[0])

    joined = []
    monkeypatch.setattr(jobs, "Display", Reachable)
    assert main([*command, "there", "--jobs", "2", "--ray"]) == 0
    captured = capfd.readouterr()
    assert captured.out.count("its worker was lost (WorkerCrashedError): started again") == 1
    assert "ray" not in captured.err.lower()  # what it says to itself is not for the terminal
    here, there = (
        sorted(path.relative_to(out) for path in out.rglob("*"))
        for out in (Path("here"), Path("there"))
    )
    assert here == there
    same = [path for path in here if path.suffix in (".csv", ".safetensors")]
    assert len(same) == 4 * len(("rows", "evaluations", "model")) + len(("sweep.csv",))
    assert all(Path("here", path).read_bytes() == Path("there", path).read_bytes() for path in same)
    assert not [
        path for path in set(Path("/tmp").glob("drrn-*")) - before if path.match("drrn-ray-*")
    ]


def test_a_job_done_in_a_folder_of_its_own_comes_back_whole(tmp_path):
    work = job_for(tmp_path / "results")
    said = list(run_job(work, {}, versions(), tmp_path))
    assert [event.kind for event, _ in said] == ["started", *["round"] * 4, "done"]
    files = said[-1][1]
    assert not (tmp_path / "results").exists()
    Results(work.root).receive(work.game, work.name, files)
    done_here([here := job_for(tmp_path / "here")])
    assert rows(work.root) == rows(here.root) and Results(work.root).load("long-watch", "table")


def test_a_job_that_was_begun_goes_on_elsewhere(tmp_path):
    work = job_for(tmp_path / "results")
    next(work.run())
    begun = read_files(work.root, work.folder)
    said = list(run_job(work, begun, versions(), tmp_path))
    assert [(event.kind, event.rounds) for event, _ in said][1:3] == [("round", 2), ("round", 3)]
    Results(work.root).receive(work.game, work.name, said[-1][1])
    done_here([here := job_for(tmp_path / "here")])
    assert rows(work.root) == rows(here.root)
    assert not (work.folder / "checkpoint.safetensors").exists()  # it is done


def test_what_was_finished_by_then_outlives_a_worker(tmp_path, monkeypatch):
    monkeypatch.setattr(ray_jobs, "SAVE_SECONDS", 0.0)
    work = job_for(tmp_path / "results")
    for event, files in run_job(work, {}, versions(), tmp_path):
        Results(work.root).receive(work.game, work.name, files)
        if event.rounds == 2:
            break
    assert next(work.run()).number == 3


def test_a_worker_with_other_versions_computes_nothing(tmp_path):
    _, (last, _) = run_job(job_for(tmp_path), {}, {**versions(), "numpy": "0.1"}, tmp_path)
    assert last.kind == "failed"
    assert f"has numpy {versions()['numpy']}, but" in last.why
    assert "numpy 0.1" in last.why


@pytest.mark.parametrize(
    "address",
    [
        "nonsense",
        "ray://head:10001",
        "head:port",
        "127.0.0.1:9",
        "127.0.0.1:99999",
        "nowhere.invalid:6379",
    ],
)
def test_an_address_where_no_cluster_is_gets_one_sentence(address, tmp_path, capsys):
    command = ["sweep", "long-watch", "--vary", "alpha=1", "--out", str(tmp_path), "--ray", address]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert address in error and "HOST:PORT" in error and error.count("\n") == 1


@needs_ray
def test_an_address_where_nobody_answers_is_refused_even_if_no_job_is_left():
    with pytest.raises(InputError, match="nothing answers there"):
        workers_for(
            argparse.Namespace(ray="127.0.0.1:9", device="cpu", jobs=None)
        )  # a crew that is asked for no places


@needs_ray
def test_what_answers_but_is_no_cluster_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(ray_jobs, "ANSWER_SECONDS", 0.5)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(InputError, match="no answer within"),
    ):
        check_cluster(f"127.0.0.1:{server.getsockname()[1]}")


def test_without_ray_the_cure_is_named(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["sweep", "long-watch", "--vary", "alpha=1", "--out", str(tmp_path), "--ray"]) == 2
    assert "pip install 'drrn[ray]'" in capsys.readouterr().err


def test_a_gpu_is_not_asked_of_a_cluster():
    with pytest.raises(InputError, match="--device cuda"):
        workers_for(argparse.Namespace(ray="", device="cuda", jobs=None))
