"""What a job measures: scores, quests, Q-values, embeddings, and the facts of a game."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.experiments.job import Scores
from drrn.learning.q_learning import QLearning
from drrn.models import Model, Pages
from drrn.playing.recall import Recall, pages_of_game, remember
from drrn.runs import tensors
from drrn.runs.run import Run
from drrn.runs.scores import MEASURES, reference_scores
from drrn.runs.trainer import Trainer
from drrn.sentences import open_sentences
from drrn.settings import Settings
from lab.experiments.embeddings import embed, plane
from lab.experiments.plan import (
    FOUR_STEPS,
    MADE_UP,
    PROTOCOLS,
    WORDINGS,
    Example,
    examples_of,
    published_job,
)
from lab.experiments.results import Row, mark
from lab.experiments.statistics import paraphrases_of, statistics_of
from storytest.twine.paraphrases import DEFAULT_SET
from textgames.compiled.chain import softmax_of_slots
from textgames.compiled.compile import MOST_STATES, compile_game
from textgames.compiled.game import Compiled
from textgames.compiled.history import with_history
from textgames.compiled.memoryless import fixed_point
from textgames.compiled.solve import Score, best, one_slot, policy_score, random_play
from textgames.errors import InputError
from textgames.files import json_or_none, write
from textgames.game.contract import (
    Game,
    another,
    close,
    evaluation_game_of,
    step_limit_of,
    title_of,
)
from textgames.game.episodes import play_episodes, random_policy, summarise
from textgames.openers import make
from textsuites.catalogue import suite_of

Files = dict[str, list[Row]]  # by the end of the file's name

# --- Scores


def round_rows(rows: list[Row], common: Row, policies: Sequence[str]) -> list[Row]:
    """A row for each seed, round and policy, from the rows of a training run."""
    result = []
    for row in rows:
        numbers = {name: row[name] for name in ("seed", "round", "episodes")}
        for policy in policies:
            key = {"final": False, "policy": policy, "paraphrased": False}
            values = {name: row[f"{policy}_{name}"] for name in MEASURES}
            result.append({**common, **numbers, **key, **values, "exact": None})
    return result


def final_rows(scores: Scores, settings: Settings, common: Row, paraphrased: bool) -> list[Row]:
    """A row for each score after the last round."""
    return [
        {
            **common,
            "seed": settings.run.seeds[sampled.replica],
            "round": settings.run.rounds,
            "episodes": sampled.summary.episodes,
            "final": True,
            "policy": sampled.policy,
            "paraphrased": paraphrased,
            **sampled.measures,
            "exact": exact.final_reward if exact else None,
        }
        for sampled, exact in scores
    ]


def test_game_of(job: str, source: str) -> str | None:
    """The name of the game that a published job is scored on, if it is a separate one."""
    protocol = PROTOCOLS.get(job)
    return protocol.test_game(source) if protocol else None


@contextmanager
def opened(source: str, history: int) -> Iterator[Game]:
    """Open a game for a while."""
    game = make(source)
    try:
        yield with_history(game, history)
    finally:
        close(game)


def wording_rows(trainer: Trainer, source: str, recalled: Sequence[str]) -> list[Row]:
    """Return exact scores by softmax on a compiled game in its own and in other words.

    `recalled` are sentence models by which unknown words are recalled; empty: none are.
    """
    assert trainer.compiled is not None
    agent = trainer.agent
    memory = remember({}, pages_of_game(trainer.compiled))
    sets = [name for name in WORDINGS if paraphrases_of(trainer.game, name)]
    rows = []
    for model, wording in itertools.product(recalled, ["", *sets]):
        agent.recall = Recall(memory, open_sentences(model)) if model else None
        _, scores = agent.exact(make(source, paraphrased=wording or False))
        for seed, score in zip(trainer.settings.run.seeds, scores, strict=True):
            key = {"seed": seed, "wording": wording, "recall": model}
            rows.append({**key, "final_reward": score.final_reward, "return": score.total})
    return rows


# --- Quests: the share of episodes with a good ending, and the steps that a seed has played by then

GOOD_ENDINGS = ("quest done", "the comet seen", "won")
PLAYED = "played.json"  # in the run's folder: steps of each seed, by round


def save_step_counts(run: Run, trainer: Trainer) -> None:
    """Add the steps that each seed has played to the run's folder, if the learner counts them."""
    if isinstance(trainer.learner, QLearning) and trainer.settings.learner.keep:
        counts = [buffer.added for buffer in trainer.learner.memories]
        before = json_or_none(run.folder / PLAYED) or {}
        write(run.folder / PLAYED, json.dumps({**before, str(trainer.round): counts}))


def quest_rows(run: Run, trainer: Trainer, scores: Scores) -> list[Row]:
    """A row for each seed and round by softmax, then for each seed and policy at the end."""
    seeds = trainer.settings.run.seeds
    counts: dict[str, list[int]] = json_or_none(run.folder / PLAYED) or {}

    def row(replica: int, number: int, policy: str, done: float, *, final: bool = False) -> Row:
        steps = counts.get(str(number))
        key = {"seed": seeds[replica], "round": number, "final": final, "policy": policy}
        played = steps[replica] if steps else None
        return {**key, "played": played, "done": done, "exact_done": None, "exact_return": None}

    rows = []
    for each in run.rows():
        done = good_share(each["endings"])
        rows.append(row(seeds.index(each["seed"]), each["round"], "softmax", done))
    for sampled, score in scores:
        done = good_share(sampled.summary.endings) / sampled.summary.episodes
        last = trainer.settings.run.rounds
        rows.append(row(sampled.replica, last, sampled.policy, done, final=True))
        if score and trainer.compiled:
            rows[-1]["exact_done"] = exact_good_share(trainer.compiled, score)
        if score:
            rows[-1]["exact_return"] = score.total
    return rows


def good_share(endings: Mapping[str, float]) -> float:
    """The share, or the number, of episodes with a good ending."""
    return sum(share for name, share in endings.items() if name in GOOD_ENDINGS)


def exact_good_share(compiled: Compiled, score: Score) -> float:
    """The probability of a good ending."""
    pairs = zip(compiled.endings, score.endings, strict=True)
    return float(sum(share for ending, share in pairs if ending.passage in GOOD_ENDINGS))


# --- Q-values of pairs of a text and an action


def paraphrased_pairs(game: Game, compiled: Compiled) -> dict[tuple[int, int], tuple[int, int]]:
    """Each distinct pair of a text and an action that has a paraphrase.

    Keys are the indices of the text and the action; values are the page and the slot where the pair
    first occurs.
    """
    paraphrases = paraphrases_of(game) or {}
    pairs: dict[tuple[int, int], tuple[int, int]] = {}
    for page, actions in enumerate(compiled.page_actions.tolist()):
        for slot, action in enumerate(actions):
            if action >= 0 and compiled.actions[action] in paraphrases:
                pairs.setdefault((int(compiled.page_text[page]), action), (page, slot))
    return pairs


def pair_rows(model: Model, game: Game, compiled: Compiled) -> list[Row]:
    """Q of each action that has a paraphrase, in the original and paraphrased.

    A model that sees the whole menu sees all actions paraphrased, or none.
    """
    paraphrase_of = paraphrases_of(game) or {}
    paraphrases = [paraphrase_of.get(action, action) for action in compiled.actions]
    q = _q_of_pages(model, compiled, compiled.actions)
    q_paraphrased = _q_of_pages(model, compiled, paraphrases)
    return [
        {
            "state": mark(compiled.texts[text]),
            "action": mark(compiled.actions[action]),
            "paraphrase": mark(paraphrases[action]),
            "q": q[:, page, slot].tolist(),
            "q_paraphrased": q_paraphrased[:, page, slot].tolist(),
        }
        for (text, action), (page, slot) in paraphrased_pairs(game, compiled).items()
    ]


def _q_of_pages(model: Model, compiled: Compiled, actions: Sequence[str]) -> NDArray[Any]:
    """Q [R, P, A] of all pages, with these texts of the actions."""
    store = model.store.scratch()
    replicas = len(model.seeds)
    texts = np.array([store.states.id(text) for text in compiled.texts], np.int64)
    ids = np.array([*(store.actions.id(action) for action in actions), -1], np.int64)
    states = np.tile(texts[compiled.page_text], (replicas, 1))
    slots = np.tile(ids[compiled.page_actions], (replicas, 1, 1))
    q: NDArray[Any] = model.q(Pages(states, slots, store)).cpu().numpy()
    return q


def _example_texts(example: Example, compiled: Compiled) -> tuple[str, str, str] | None:
    """The state, the good and the poor action. None in another version of the story."""
    states = {mark(text): text for text in compiled.texts}
    actions = {mark(text): text for text in compiled.actions}
    try:
        pair = (actions[example.good["mark"]], actions[example.poor["mark"]])
        return (states[example.state["mark"]], *pair)
    except KeyError:
        return None


def example_rows(trainer: Trainer, name: str, game: Game, compiled: Compiled) -> list[Row]:
    """Q of each example's good and poor action, of both paraphrased, and of made-up ones."""
    paraphrases = paraphrases_of(game) or {}
    rows = []
    for example in examples_of(name):
        texts = _example_texts(example, compiled)
        if texts is None:
            continue
        state, *pair = texts
        actions = list(zip(("good", "poor"), pair, strict=True))
        known = [(kind, action) for kind, action in actions if action in paraphrases]
        actions += [(f"{kind} paraphrased", paraphrases[action]) for kind, action in known]
        for kind in MADE_UP:
            actions += [(kind, action) for action in example.made_up[kind]]
        q = trainer.agent.ask(state, [action for _, action in actions])
        for replica, seed in enumerate(trainer.settings.run.seeds):
            for (kind, action), value in zip(actions, q[replica].tolist(), strict=True):
                key = {"seed": seed, "state": example.state["mark"], "kind": kind}
                rows.append({**key, "action": mark(action), "q": round(value, 4)})
    return rows


# --- Embeddings during training: a state and two of its actions on their principal axes

TRACED_EPISODES = (200, 400, 600)  # and after the last round
ROLES = ("state", "good", "poor")


@dataclass(frozen=True)
class Trace:
    """Saves the embeddings of an example in a run's folder, so that a resumed run has them."""

    folder: Path
    example: Example
    texts: tuple[str, str, str]  # state, good and poor action

    @staticmethod
    def of(folder: Path, game: str, compiled: Compiled | None) -> "Trace | None":
        """The trace of the game's example, or None if it has none."""
        example = next((each for each in examples_of(game) if each.embedding), None)
        texts = _example_texts(example, compiled) if example and compiled else None
        return Trace(folder, example, texts) if example and texts else None

    def save(self, model: Model, episodes: int) -> None:
        """Save the three embeddings [R, 3, H], and Q of the two actions."""
        state, *actions = self.texts
        vectors, q = embed(model, state, actions)
        write(self._path(episodes), tensors.tensor_bytes({"vectors": vectors, "q": q}))

    def rows(self, seeds: list[int], last: int) -> list[Row]:
        """Where the three embeddings were, for each seed and each time they were saved."""
        times = [each for each in sorted({*TRACED_EPISODES, last}) if self._path(each).exists()]
        saved = [tensors.load_tensors(self._path(each))[0] for each in times]
        rows = []
        for replica, seed in enumerate(seeds):
            vectors = np.stack([each["vectors"][replica] for each in saved])
            points = plane(vectors).tolist()
            for episodes, tensor, three in zip(times, saved, points, strict=True):
                key = {"seed": seed, "episodes": episodes, "state": self.example.state["mark"]}
                q = [None, *(round(value, 4) for value in tensor["q"][replica].tolist())]
                for role, (x, y), value in zip(ROLES, three, q, strict=True):
                    point = {"x": round(x, 4), "y": round(y, 4), "q": value}
                    rows.append({**key, "role": role, **point})
        return rows

    def _path(self, episodes: int) -> Path:
        return self.folder / f"embeddings-{episodes}.safetensors"


# --- Facts of a game

SUITE_EPISODES = {"twx": 100, "textworld": 20}  # of random play: 10 in slower suites
STATISTICS = "kind state_vocabulary action_vocabulary words_per_description most_actions".split()
STATISTICS += "transitions pages actions".split()


def facts(game: Game, settings: Settings, source: str, name: str) -> dict[str, Any]:
    """The facts of a game, by their names. None: unknown.

    The settings give α and γ of softmax play; `name` is that of the game in the results.
    """
    if suite_of(source):
        return _suite_facts(game, source, published_job(name))
    try:
        compiled = compile_game(game, limit=MOST_STATES)
    except InputError:
        compiled = None
    statistics = statistics_of(game, compiled)
    scores = reference_scores(game, compiled, 2_000)
    limit = step_limit_of(game)
    values: dict[str, Any] = {
        "title": title_of(game),
        **{name: getattr(statistics, name) for name in STATISTICS},
        "states": statistics.states,
        "endings": statistics.endings,
        "states_are_all": statistics.complete,
        "states_that_differ": len(compiled) if compiled else None,
        "random_final_reward": scores.random,
        "best_final_reward": scores.best,
        **(softmax_scores(compiled, settings, limit) if compiled else {}),
    }
    if scores.random_return is not None and statistics.kind == "parser":
        values |= {"random_return": scores.random_return, "best_return": scores.best_return}
        if compiled:
            by_best = policy_score(compiled, one_slot(compiled, best(compiled, 1.0).slot), limit)
            values["random_done"] = exact_good_share(compiled, random_play(compiled, limit))
            values["best_done"] = exact_good_share(compiled, by_best)
    if paraphrases := statistics.paraphrases.get(DEFAULT_SET):
        values |= {
            "paraphrases": paraphrases.pairs,
            "paraphrased_pairs": len(paraphrased_pairs(game, compiled)) if compiled else None,
            "oov_rate": paraphrases.oov_rate,
            "bleu": paraphrases.bleu,
        }
    return values


def _suite_facts(game: Game, source: str, job: str) -> dict[str, Any]:
    """The facts of a suite's game: its name without folders, and scores of random play.

    The games of a published job are those that it is scored on.
    """
    suite, _, rest = source.partition(":")
    path, question, options = rest.partition("?")
    episodes = SUITE_EPISODES.get(suite, 10)
    with ExitStack() as stack:
        scored = another(game) or game
        if name := test_game_of(job, source):
            scored = stack.enter_context(opened(name, history=0))
        elif job in PROTOCOLS:
            scored = evaluation_game_of(game) or scored
        summary = summarise(play_episodes(scored, random_policy(0), episodes, 0))
    return {
        "title": title_of(game).partition(" (")[0],  # the source has its options
        "kind": "suite",
        "source": f"{suite}:{Path(path).name}{question}{options}",
        "random_final_reward": summary.mean_final_reward,
        "random_return": summary.mean_return,
        "random_done": good_share(summary.endings) / summary.episodes,
        "random_episodes": summary.episodes,
    }


def softmax_scores(compiled: Compiled, settings: Settings, limit: int) -> dict[str, float | None]:
    """The scores of softmax with the true Q-values, and at Q-learning's fixed points."""
    alpha = settings.exploration.alpha
    gamma = settings.learner.discount
    policy = softmax_of_slots(compiled, best(compiled, gamma).q, alpha)
    values: dict[str, float | None] = {
        "true_q_softmax": policy_score(compiled, policy, limit).final_reward
    }
    steps = {"one_step_at_rest": 1, "four_steps_at_rest": FOUR_STEPS.n_steps}
    for name, n_steps in steps.items():
        point = fixed_point(compiled, alpha, gamma, limit, n_steps=n_steps)
        values[name] = point.final_reward if point else None
    return values
