"""What a job measures: scores, quests, Q-values, embeddings, and the facts of a game."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from drrn.experiments.job import Scores
from drrn.experiments.results import Row
from drrn.models import Model, Pages
from drrn.models.drrn import DRRN
from drrn.playing.recall import Recall, pages_of_game, remember
from drrn.runs import tensors
from drrn.runs.run import Run
from drrn.runs.scores import MEASURES, compiled_or_none, reference_scores
from drrn.runs.trainer import Trainer
from drrn.sentences import open_sentences
from drrn.settings import RunSettings, Settings
from lab.experiments.plan import (
    FOUR_STEPS,
    PROTOCOLS,
    WORDINGS,
    Example,
    examples_of,
    published_job,
)
from lab.experiments.results import mark
from lab.experiments.statistics import distances_of, paraphrases_of, statistics_of
from storytest.twine.paraphrases import DEFAULT_SET
from textgames.compiled.chain import softmax_of_slots
from textgames.compiled.game import Compiled
from textgames.compiled.history import with_history
from textgames.compiled.memoryless import fixed_point
from textgames.compiled.solve import Score, best, one_slot, policy_score, random_play
from textgames.errors import InputError
from textgames.files import read_text, write
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


def quest_rows(run: Run, trainer: Trainer, scores: Scores) -> list[Row]:
    """A row for each seed and round by softmax, then for each seed and policy at the end."""
    seeds = trainer.settings.run.seeds
    played = {(row["seed"], row["round"]): row["interactions"] for row in run.progress()}

    def row(seed: int, number: int, policy: str, done: float, *, final: bool = False) -> Row:
        key = {"seed": seed, "round": number, "final": final, "policy": policy}
        steps = played[seed, number]
        return {**key, "played": steps, "done": done, "exact_done": None, "exact_return": None}

    rows = []
    for each in run.rows():
        done = good_share(each["endings"])
        rows.append(row(each["seed"], each["round"], "softmax", done))
    for sampled, score in scores:
        done = good_share(sampled.summary.endings) / sampled.summary.episodes
        last = trainer.settings.run.rounds
        rows.append(row(seeds[sampled.replica], last, sampled.policy, done, final=True))
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


# --- Q-values of examples: actions of the game, paraphrased ones, and made-up ones

MADE_UP = ("positive", "negative", "irrelevant")
Questions = Mapping[str, str]  # the actions that the paper's authors made up, by label


def read_questions(path: Path) -> Questions:
    """The made-up actions of the paper's table 4, from its LaTeX source, such as "positive 1"."""
    text = read_text(path)
    questions = {}
    for kind in MADE_UP:
        row = re.search(rf"^{kind.capitalize()} actions \(not original\) & (.*?)\\\\", text, re.M)
        if row is None:
            raise InputError(f"{path}: not the source of the paper: table 4 has no {kind} actions")
        for number, action in enumerate(re.findall(r"(\S.*?) \(-?[\d.]+\)", row[1]), 1):
            questions[f"{kind} {number}"] = action
    return questions


def _example_texts(example: Example, compiled: Compiled) -> list[str] | None:
    """The state and its actions. None in another version of the story."""
    texts = {mark(text): text for text in (*compiled.texts, *compiled.actions)}
    try:
        return [texts[each["mark"]] for each in (example.state, *example.actions)]
    except KeyError:
        return None


def example_rows(trainer: Trainer, name: str, game: Game, questions: Questions) -> list[Row]:
    """Q of each example's actions, of these paraphrased, and of made-up ones."""
    paraphrases = paraphrases_of(game) or {}
    rows = []
    for example in examples_of(name):
        texts = _example_texts(example, trainer.compiled) if trainer.compiled else None
        if texts is None:
            continue
        state, *own = texts
        asked = list(zip([action["role"] for action in example.actions], own, strict=True))
        asked += [(f"{kind} paraphrased", paraphrases[a]) for kind, a in asked if a in paraphrases]
        asked += [(kind, action) for kind in example.made_up for action in example.made_up[kind]]
        asked += [(kind, action) for kind, action in questions.items() if kind in example.printed]
        q = trainer.agent.ask(state, [action for _, action in asked])
        for replica, seed in enumerate(trainer.settings.run.seeds):
            for (kind, action), value in zip(asked, q[replica].tolist(), strict=True):
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
    run: RunSettings
    example: Example
    texts: list[str]  # state, good and poor action

    @staticmethod
    def of(folder: Path, game: str, trainer: Trainer) -> "Trace | None":
        """The trace of the game's example, or None if it has none."""
        example = next((each for each in examples_of(game) if each.embedding), None)
        texts = _example_texts(example, trainer.compiled) if example and trainer.compiled else None
        return (
            Trace(folder, trainer.settings.run, example, texts[:3]) if texts and example else None
        )

    def save(self, trainer: Trainer, number: int) -> None:
        """Save the three embeddings [R, 3, H] and Q of the two actions, after some rounds."""
        episodes = number * self.run.episodes_per_round
        if episodes in TRACED_EPISODES or number == self.run.rounds:
            vectors, q = embed(trainer.model, self.texts[0], self.texts[1:])
            write(self._path(episodes), tensors.tensor_bytes({"vectors": vectors, "q": q}))

    def rows(self) -> list[Row]:
        """Where the three embeddings were, for each seed and each time they were saved."""
        last = self.run.rounds * self.run.episodes_per_round
        times = [each for each in sorted({*TRACED_EPISODES, last}) if self._path(each).exists()]
        saved = [tensors.load_tensors(self._path(each))[0] for each in times]
        rows = []
        for replica, seed in enumerate(self.run.seeds):
            points = plane(np.stack([each["vectors"][replica] for each in saved])).tolist()
            for episodes, tensor, three in zip(times, saved, points, strict=True):
                q = [None, *(round(value, 4) for value in tensor["q"][replica].tolist())]
                for role, (x, y), value in zip(ROLES, three, q, strict=True):
                    key = {"seed": seed, "episodes": episodes, "state": self.example.state["mark"]}
                    point = {"x": round(x, 4), "y": round(y, 4), "q": value}
                    rows.append({**key, "role": role, **point})
        return rows

    def _path(self, episodes: int) -> Path:
        return self.folder / f"embeddings-{episodes}.safetensors"


def embed(model: Model, text: str, actions: Sequence[str]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The vectors of a page and its actions [R, 1 + A, H], and Q of the actions [R, A]."""
    assert isinstance(model, DRRN)
    store = model.store.scratch()
    state, ids = store.page(text, tuple(actions))
    replicas = len(model.seeds)
    pages = Pages(np.array([[state]] * replicas), np.array([[ids]] * replicas), store)
    with torch.no_grad():
        s, a = model.embeddings(model.read(pages[None])[0])
        vectors = torch.cat([s[:, 0, None], a[:, 0]], dim=1)
        return vectors.cpu().numpy(), model.q(pages)[:, 0].cpu().numpy()


def plane(vectors: NDArray[Any]) -> NDArray[np.float64]:
    """Project vectors [times, 1 + A, H] onto their two principal axes [times, 1 + A, 2].

    The origin is fixed, so that a right angle with the page means a Q near 0. At the last time the
    page points right, and the first action does not point down.
    """
    flat = vectors.astype(np.float64).reshape(-1, vectors.shape[-1])
    axes = np.zeros((2, flat.shape[-1]))
    rows = np.linalg.svd(flat, full_matrices=False)[2][:2]
    axes[: len(rows)] = rows  # of one hidden unit, there is one axis
    points = (flat @ axes.T).reshape(*vectors.shape[:2], 2)
    page = points[-1, 0]
    first = points[-1, 1]
    oriented: NDArray[np.float64] = points * np.where([page[0] < 0, first[1] < 0], -1.0, 1.0)
    return oriented


# --- Facts of a game

SUITE_EPISODES = {"twx": 100}  # of random play: 10 in slower suites


def facts(game: Game, settings: Settings, source: str, name: str) -> dict[str, Any]:
    """The facts of a game, by their names. None: unknown.

    The settings give α and γ of softmax play; `name` is that of the game in the results.
    """
    if suite_of(source):
        return _suite_facts(game, source, published_job(name))
    compiled = compiled_or_none(game, settings)
    scores = reference_scores(game, compiled, 2_000)
    values: dict[str, Any] = {
        "title": title_of(game),
        "random_final_reward": scores.random,
        "best_final_reward": scores.best,
    }
    if compiled is None:
        return values
    limit = step_limit_of(game)
    values |= statistics_of(game, compiled)
    values["states_that_differ"] = len(compiled)
    values |= softmax_scores(compiled, settings, limit)
    if values["kind"] == "parser":
        by_best = policy_score(compiled, one_slot(compiled, best(compiled, 1.0).slot), limit)
        values |= {"random_return": scores.random_return, "best_return": scores.best_return}
        values["random_done"] = exact_good_share(compiled, random_play(compiled, limit))
        values["best_done"] = exact_good_share(compiled, by_best)
    if paraphrases := distances_of(game, compiled).get(DEFAULT_SET):
        values |= {
            "paraphrases": paraphrases.pairs,
            "paraphrased_pairs": len(paraphrased_pairs(game, compiled)),
            "oov_rate": paraphrases.oov_rate,
            "bleu": paraphrases.bleu,
        }
    return values


def _suite_facts(game: Game, source: str, job: str) -> dict[str, Any]:
    """The facts of a suite's game: its name without folders, and random play where it is scored."""
    suite, _, rest = source.partition(":")
    path, question, options = rest.partition("?")
    episodes = SUITE_EPISODES.get(suite, 10)
    with ExitStack() as stack:
        scored = another(game) or game
        if name := test_game_of(job, source):
            scored = stack.enter_context(opened(name, history=0))
        else:
            scored = evaluation_game_of(game) or scored
        summary = summarise(play_episodes(scored, random_policy(0), episodes, 0))
    return {
        "title": title_of(game).partition(" (")[0],  # the source has its options
        "kind": "suite",
        "source": f"{suite}:{Path(path).name}{question}{options}",
        "random_return": summary.mean_return,
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
