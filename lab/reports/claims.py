"""The claims of the paper, each with what tests it here: held, partly, not held, or untested.

claims.toml has the claims in our own words. `check` names a function here that computes the verdict
and the evidence from the rows; other claims have both written by hand.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import fmean

from lab.experiments import plan
from lab.experiments.plan import BEST, LINEAR, PAPER, SIZES, Variant
from lab.reports.paper import MODELS, comparisons, example_values
from lab.reports.result_set import PUBLISHED, ResultSet, Summary, decimal, holm, interval, welch
from textgames.document import Table
from textgames.files import read_toml

JOHN, DEATH = PAPER
CLAIMS = read_toml(Path(__file__).with_name("claims.toml"))["claim"]
Verdict = tuple[str, str]  # and the evidence
Check = Callable[[ResultSet], Verdict]
CHECKS: dict[str, Check] = {}


def check(function: Check) -> Check:
    CHECKS[function.__name__] = function
    return function


def claims_table(results: ResultSet) -> Table:
    rows = []
    for number, claim in enumerate(CLAIMS, 1):
        verdict, evidence = claim.get("verdict", "untested"), claim.get("evidence", "")
        if "check" in claim:
            try:
                verdict, evidence = CHECKS[claim["check"]](results)
            except (LookupError, ValueError):  # such as a mean of nothing
                evidence = "there are no rows"
        rows.append(
            [str(number), claim["paper"], claim["claim"], claim["where"], verdict, evidence]
        )
    header = ["", "Paper", "Claim", "Tested by", "Verdict", "Evidence"]
    return Table("", header, rows, align="rlllll")


def _of(held: int, count: int) -> str:
    if held == count:
        return "held"
    return "partly" if 2 * held >= count else "not held"


def _games(texts: Mapping[str, str]) -> str:
    return "; ".join(f"{PAPER[game]}: {text}" for game, text in texts.items())


def _score(results: ResultSet, game: str, variant: Variant, wording: str = "") -> Summary:
    """The score of a variant. A LookupError says that it has no rows."""
    score = results.final(game, variant, wording=wording)
    if score is None:
        raise LookupError(variant.name)
    return score


def _curve(results: ResultSet, game: str, variant: Variant) -> dict[int, tuple[float, float]]:
    """Mean and deviation of the score by episodes."""
    points = {episodes: (mean, sd) for episodes, mean, sd in results.curve(game, variant)}
    if not points:
        raise LookupError(variant.name)
    return points


def _baselines(size: int) -> list[Variant]:
    sized = [each for each in plan.LAYERED_GRID if each.hidden == size and each.model != "drrn"]
    return [LINEAR, *sized]


# --- Scores


def _agree(results: ResultSet, game: str, drrn: bool) -> Verdict:
    tests = [
        test
        for (own, variant, wording), test in comparisons(results).items()
        if own == game and not wording and (variant.model == "drrn") == drrn
    ]
    means = [test.ours.mean for test in tests if test.ours]
    if len(means) < len(tests):
        raise LookupError(game)
    same = sum(not test.differs for test in tests)
    text = f"{same} of {len(tests)} cells do not differ by the adjusted test"
    return _of(same, len(tests)), f"{text}; ours {min(means):.1f} to {max(means):.1f}"


CHECKS["john_drrn"] = lambda results: _agree(results, JOHN, True)
CHECKS["john_baselines"] = lambda results: _agree(results, JOHN, False)
CHECKS["death_drrn"] = lambda results: _agree(results, DEATH, True)
CHECKS["death_baselines"] = lambda results: _agree(results, DEATH, False)


def _ahead(results: ResultSet, game: str, wording: str = "") -> int:
    """In how many columns DRRN with two layers is higher than each baseline, by Welch's test."""
    columns = 0
    for size in SIZES:
        best = _score(results, game, Variant("drrn", 2, size), wording)
        others = [each for each in _baselines(size) if not wording or each.layers == 2]
        scores = [_score(results, game, each, wording) for each in others]
        p = holm([welch(best, each) for each in scores])
        lower = [best.mean > each.mean for each in scores]
        columns += all(lower) and all(each is None or each < 0.05 for each in p)
    return columns


@check
def drrn_ahead(results: ResultSet) -> Verdict:
    counts = {game: _ahead(results, game) for game in PAPER}
    texts = {game: f"clearly ahead in {count} of 3 columns" for game, count in counts.items()}
    return _of(sum(counts.values()), 6), _games(texts)


@check
def paraphrases_ahead(results: ResultSet) -> Verdict:
    columns = _ahead(results, DEATH, "paraphrased")
    return _of(columns, 3), f"clearly ahead in {columns} of 3 columns"


@check
def random_start(results: ResultSet) -> Verdict:
    scores = [results.fact(game, "random_final_reward") or 0.0 for game in PAPER]
    near = [abs(score - theirs) < 0.5 for score, theirs in zip(scores, (-7, -8), strict=True)]
    return _of(sum(near), 2), " and ".join(decimal(score, 2) for score in scores)


@check
def converged(results: ResultSet) -> Verdict:
    """Whether the last five rounds differ from the five before by less than half a point."""
    moving = []
    for game in PAPER:
        for variant in plan.CURVES:
            means = [mean for mean, _ in _curve(results, game, variant).values()]
            change = fmean(means[-5:]) - fmean(means[-10:-5])
            if abs(change) >= 0.5:
                moving.append(f"{MODELS[variant.model]} in {PAPER[game]} {change:+.1f}")
    count = 2 * len(plan.CURVES)
    text = f"{count - len(moving)} of {count} curves move by less than 0.5 in 1,000 episodes"
    return _of(count - len(moving), count), ", ".join([text, *moving])


@check
def faster(results: ResultSet) -> Verdict:
    scores = {
        game: [_curve(results, game, each)[1_000][0] for each in (BEST, *plan.LARGE, LINEAR)]
        for game in PAPER
    }
    texts = {
        game: f"after 1,000 episodes {ours:.1f}, baselines at most {max(others):.1f}"
        for game, (ours, *others) in scores.items()
    }
    return _of(sum(each[0] > max(each[1:]) for each in scores.values()), 2), _games(texts)


@check
def faster_in_saving_john(results: ResultSet) -> Verdict:
    needed = {}
    for game in PAPER:
        means = {episodes: mean for episodes, (mean, _) in _curve(results, game, BEST).items()}
        low = results.fact(game, "random_final_reward") or 0.0
        goal = low + 0.9 * (max(means.values()) - low)
        needed[game] = min(episodes for episodes, mean in means.items() if mean >= goal)
    texts = {game: f"90 % of its gain after {count:,} episodes" for game, count in needed.items()}
    return _of(needed[JOHN] < needed[DEATH], 1), _games(texts)


@check
def lower_variance(results: ResultSet) -> Verdict:
    counts = dict.fromkeys(PAPER, 0)
    for game in PAPER:
        for size in SIZES:
            own = _score(results, game, Variant("drrn", 2, size)).sd or 0.0
            sds = [_score(results, game, each).sd or 0.0 for each in _baselines(size)]
            counts[game] += sum(own < other for other in sds)
    texts = {game: f"smaller than {count} of 15 baselines'" for game, count in counts.items()}
    return _of(sum(count > 7 for count in counts.values()), 2), _games(texts)


@check
def two_layers(results: ResultSet) -> Verdict:
    counts = dict.fromkeys(PAPER, 0)
    for game in PAPER:
        for one in plan.LAYERED_GRID:
            if one.layers == 1:
                two = Variant(one.model, 2, one.hidden)
                counts[game] += _score(results, game, two).mean > _score(results, game, one).mean
    texts = {game: f"in {count} of 9 pairs" for game, count in counts.items()}
    return _of(sum(counts.values()), 18), _games(texts)


@check
def deep_slower(results: ResultSet) -> Verdict:
    layers = [Variant("drrn", number, 100) for number in (1, 2)]
    starts = {JOHN: 200, DEATH: 400}
    early = {g: [_curve(results, g, each)[n][0] for each in layers] for g, n in starts.items()}
    texts = {
        game: f"after {starts[game]} episodes {two:.1f} with two layers, {one:.1f} with one"
        for game, (one, two) in early.items()
    }
    return _of(sum(two < one for one, two in early.values()), 2), _games(texts)


@check
def people_ahead(results: ResultSet) -> Verdict:
    people = float(PUBLISHED["statistics"][DEATH]["experienced"])
    best = max(_score(results, DEATH, each).mean for each in plan.GRID)
    return _of(best < people, 1), f"people {people:.1f}, our best cell {best:.1f}"


@check
def bilinear_similar(results: ResultSet) -> Verdict:
    inner = _score(results, DEATH, BEST)
    scores = {job.action_hidden: _score(results, DEATH, job) for job in plan.BILINEAR}
    same = sum(p is None or p >= 0.05 for p in holm([welch(inner, s) for s in scores.values()]))
    texts = [f"{size} units {interval(score)}" for size, score in scores.items()]
    return _of(same, 3), f"{PAPER[DEATH]}: inner {interval(inner)}, bilinear {', '.join(texts)}"


@check
def network_worse(results: ResultSet) -> Verdict:
    inner, network = (_score(results, DEATH, job) for job in (BEST, plan.NETWORK))
    p = welch(inner, network) or 0.0
    text = f"{PAPER[DEATH]}: inner {interval(inner)}, network {interval(network)} (p = {p:.3f})"
    return _of(network.mean < inner.mean and p < 0.05, 1), text


@check
def lstm(results: ResultSet) -> Verdict:
    bag, own = (_score(results, DEATH, job) for job in (BEST, plan.VARIANTS["drrn-2x100-lstm"]))
    p = welch(bag, own) or 0.0
    text = f"LSTM {interval(own)}, bag {interval(bag)} (p = {p:.2f})"
    return _of(own.mean <= bag.mean or p >= 0.05, 1), text


@check
def shared_faster(results: ResultSet) -> Verdict:
    shared, apart = (_curve(results, DEATH, job) for job in (plan.SHARED, BEST))
    ahead = [shared[n][0] > apart[n][0] for n in shared if n <= 1_000]
    return _of(sum(ahead), len(ahead)), f"ahead in {sum(ahead)} of {len(ahead)} evaluations"


@check
def shared_unsteady(results: ResultSet) -> Verdict:
    sd = [fmean(s for _, s in _curve(results, DEATH, job).values()) for job in (plan.SHARED, BEST)]
    return _of(sd[0] > sd[1], 1), f"mean deviation {sd[0]:.1f} when shared, {sd[1]:.1f} when apart"


@check
def tuples(results: ResultSet) -> Verdict:
    played = []
    for game in PAPER:
        rows = [row for row in results.rows(game, BEST) if row["policy"] == "softmax"]
        steps = fmean(row["steps"] for row in rows if not row["final"] and row["round"] > 1)
        played.append(0.2 * steps)
    near = sum(abs(own / n - 1) < 0.15 for own, n in zip(played, (3, 16), strict=True))
    return _of(near, 2), " and ".join(f"{thousand:.1f} thousand" for thousand in played)


# --- Reading


@check
def paraphrases_lower(results: ResultSet) -> Verdict:
    changes = {}
    for job in plan.PARAPHRASED:
        if job != plan.TABLE:
            other = _score(results, DEATH, job, "paraphrased")
            changes[job] = other.mean - _score(results, DEATH, job).mean
    slight = sum(-1.5 < change < 0 for change in changes.values())
    lower = sum(change < 0 for change in changes.values())
    text = f"lower in {lower} of 9 cells, by less than 1.5 in {slight}"
    return _of(slight, 9), f"{text}; DRRN of 100 units {changes[BEST]:+.1f}"


@check
def predictive(results: ResultSet) -> Verdict:
    theirs = PUBLISHED["predictive_r2"][DEATH]
    ours = {name: results.predictive_r2(DEATH, plan.VARIANTS[name])[0] for name in theirs}
    means = {name: each.mean for name, each in ours.items() if each}
    if len(means) < len(theirs):
        raise LookupError("pairs")
    near = sum(abs(mean - theirs[name]) <= 0.05 for name, mean in means.items())
    texts = [f"{mean:.2f} ({theirs[name]:.2f})" for name, mean in means.items()]
    return _of(near, len(theirs)), f"DRRN, network, MA, PA, with the paper's: {', '.join(texts)}"


def _asked(results: ResultSet, game: str, job: Variant = BEST) -> Iterator[dict[str, float]]:
    """Our mean Q by kind, and by mark for actions of the game, for each example of a game."""
    for example in plan.examples_of(game):
        values = example_values(results, example, job).items()
        yield {key: fmean(q) for (kind, action), q in values for key in (kind, action)}


@check
def john_values(results: ResultSet) -> Verdict:
    far = []
    for example, q in zip(plan.examples_of(JOHN), _asked(results, JOHN), strict=True):
        far += [abs(q[action["mark"]] - action["paper"]) for action in example.actions]
    near = sum(distance <= 0.15 for distance in far)
    return _of(near, len(far)), f"{near} of {len(far)} within 0.15, all within {max(far):.2f}"


@check
def death_values(results: ResultSet) -> Verdict:
    higher = [q["good"] > q["poor"] for q in _asked(results, DEATH)]
    text = f"the action with the paper's highest Q is above that with its lowest in {sum(higher)}"
    return _of(sum(higher), 5), f"{text} of 5 states"


def _made_up(results: ResultSet, job: Variant) -> Verdict:
    q = next(_asked(results, DEATH, job))
    positive, negative = ([q[f"{kind} {n}"] for n in (1, 2)] for kind in ("positive", "negative"))
    texts = [" and ".join(map(decimal, each)) for each in (positive, negative)]
    text = f"positive {texts[0]} (the paper: 2.8, 2.0), negative {texts[1]} (-17.4, -13.5)"
    return _of(min(positive) > 0 > max(negative), 1), text


CHECKS["made_up"] = lambda results: _made_up(results, BEST)
CHECKS["made_up_memory"] = lambda results: _made_up(results, plan.MEMORY)


@check
def plane_signs(results: ResultSet) -> Verdict:
    rows = results.rows(DEATH, BEST, ".embeddings")
    late = [row for row in rows if row["episodes"] >= 600 and row["q"] is not None]
    if not late:
        raise LookupError("embeddings")
    right = sum((row["q"] > 0) == (row["role"] == "good") for row in late)
    return _of(right, len(late)), f"{right} of {len(late)} signs from 600 episodes on"
