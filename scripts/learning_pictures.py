"""Draw the pictures of docs/drrn/learning.md from the run of the tour; `scripts/tour` calls it."""

import json
from collections import Counter
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot
from matplotlib.ticker import MaxNLocator

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
TOUR = json.loads(
    (ROOT / "packages/page/textgames_page/static/tour.json").read_text(encoding="utf-8")
)
RECORD = TOUR["record"]
PAGE = 0
MAX_BANDS = 6
ACTIONS = RECORD["pages"][PAGE]["actions"]


def main() -> None:
    save("learning-curve", draw_curve)
    save("learning-q", draw_q)
    save("learning-vectors", draw_vectors)
    save("learning-endings", draw_endings)
    save("learning-exploration", draw_exploration)


def save(name, draw) -> None:
    figure, axes = pyplot.subplots(figsize=(7.5, 3.6), layout="constrained")
    draw(axes)
    if axes.get_xlabel() == "round":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    with mpl.rc_context({"svg.hashsalt": "drrn"}):
        figure.savefig(PICTURES / f"{name}.svg", metadata={"Date": None})
    pyplot.close(figure)


def column(name):
    return [entry[name] for entry in RECORD["rounds"]]


def draw_curve(axes) -> None:
    column = "softmax_final_reward"
    x = [row["round"] for row in TOUR["curve"]]
    for replica in range(len(TOUR["curve"][0]["replicas"])):
        y = [row["replicas"][replica][column] for row in TOUR["curve"]]
        axes.plot(x, y, color="#2a7ab9", alpha=0.3, linewidth=1)
    axes.plot(x, [row[column] for row in TOUR["curve"]], color="#2a7ab9", label="mean of 3 agents")
    axes.axhline(TOUR["reference"]["best"], color="#3a8f4d", linestyle="--", label="best possible")
    axes.axhline(TOUR["reference"]["random"], color="#888888", linestyle=":", label="random play")
    axes.set(xlabel="round", ylabel="mean final reward")
    axes.legend(frameon=False)


def draw_q(axes) -> None:
    for index, name in enumerate(ACTIONS):
        axes.plot(column("round"), [q[PAGE][index] for q in column("q")], label=name)
    axes.set(xlabel="round", ylabel="Q")
    axes.legend(frameon=False)


def draw_vectors(axes) -> None:
    last = RECORD["rounds"][-1]
    norm = last["norm"][PAGE]
    pairs = list(zip(last["x"][PAGE], last["y"][PAGE], strict=True))
    for name, (x, y) in zip(ACTIONS, pairs, strict=True):
        axes.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "->", "color": "#625f57"})
        axes.annotate(name, (x, y), (6, -3), textcoords="offset points", fontsize=9)
    right = max(x for x, _ in pairs)
    axes.annotate("", (1.5 * right, 0), (0, 0), arrowprops={"arrowstyle": "->", "color": "#2a7ab9"})
    axes.annotate(
        "the page", (1.5 * right, 0), (-48, 5), textcoords="offset points", color="#2a7ab9"
    )
    top = 1.2 * max(abs(y) for _, y in pairs)
    for q in range(0, int(1.5 * right * norm) + 1, 4):
        axes.axvline(q / norm, color="#dddddd", linewidth=0.8, zorder=0)
        axes.annotate(f"Q = {q}", (q / norm, -top), ha="center", fontsize=8, color="#625f57")
    axes.set(xlim=(-0.1, 1.65 * right), ylim=(-1.1 * top, top))
    axes.set(xlabel="along the page's vector", ylabel="largest other direction")


def draw_endings(axes) -> None:
    rounds = []
    total: Counter[str] = Counter()
    for row in TOUR["curve"]:
        shares: Counter[str] = Counter()
        for replica in row["replicas"]:
            for name, share in replica["endings"].items():
                shares[name] += share / len(row["replicas"])
        rounds.append(shares)
        total.update(shares)
    names = [name for name, _ in total.most_common(MAX_BANDS)]
    bands = [[shares[name] for shares in rounds] for name in names]
    bands.append([1 - sum(shares[name] for name in names) for shares in rounds])
    labels = [*names, "others"]
    axes.stackplot([row["round"] for row in TOUR["curve"]], bands, labels=labels, alpha=0.85)
    axes.set(xlabel="round", ylabel="share of games", ylim=(0, 1), xlim=(1, len(rounds)))
    axes.legend(loc="lower right", fontsize=8)


def draw_exploration(axes) -> None:
    x = column("round")
    axes.plot(x, column("played"), color="#d1602b", label="return of the games to learn")
    best = [row["softmax_final_reward"] for row in TOUR["curve"]]
    axes.plot(x, best, color="#2a7ab9", label="score of its softmax policy")
    optimistic = [entry["round"] for entry in RECORD["rounds"] if entry["optimism"]]
    if optimistic:
        axes.axvspan(optimistic[0], optimistic[-1], color="#eeeeee", zorder=0, label="optimism")
    axes.set(xlabel="round", ylabel="return")
    axes.legend(frameon=False)


main()
