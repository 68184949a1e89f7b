"""Write what the page's tour shows of a run: python scripts/tour_file.py RUN FILE."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from drrn.runs.run import Run

COLUMNS = ("round", "episodes_played", "softmax_final_reward", "softmax_final_reward_sd")
OF_REPLICAS = ("softmax_final_reward", "endings")


def main(folder: str, path: str) -> None:
    run = Run(folder)
    reference = run.reference()
    assert reference is not None
    curve = []
    for scores in run.rounds():
        row = scores.as_json()
        replicas = [{name: each[name] for name in OF_REPLICAS} for each in row["replicas"]]
        curve.append({**{name: row[name] for name in COLUMNS}, "replicas": replicas})
    tour = {"reference": asdict(reference), "curve": curve, "record": run.learning()}
    tour["episodes_per_round"] = run.settings.run.episodes_per_round
    text = json.dumps(tour, ensure_ascii=False, separators=(",", ":"))
    Path(path).write_text(f"{text}\n", encoding="utf-8")
    print(f"{path}: {len(text.encode()) / 1000:.0f} kB")


main(*sys.argv[1:3])
