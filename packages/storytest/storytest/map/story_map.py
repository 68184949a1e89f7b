"""The map of a story as data: its passages and endings as nodes, and the links between them.

`story_map` builds it from a compiled game, with exact frequencies. `seen_map` builds it from what a
play-test saw of a game that is too large to compile. `with_flaws` adds passages never reached,
targets that are not written, errors and traps.
"""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from storytest.playtest.clicks import ClickPath
from storytest.playtest.coverage import Source
from storytest.playtest.evidence import Evidence, PageRecord
from storytest.playtest.findings import Findings
from textgames.arrays import ranges
from textgames.compiled.chain import Chain, uniform
from textgames.compiled.game import Compiled, Floats, Ints
from textgames.compiled.search import EndingId, first_words
from textgames.game.contract import THE_END

Edge = tuple[int, int]  # source and target
Point = tuple[float, float]
UNREACHED = "unreached"  # a passage that was never reached
UNWRITTEN = "unwritten"  # the target of a link that does not exist
WRONG = "wrong"  # an error, or a page that nobody gets out of
WRONG_KINDS = ("thrown error", "error page", "trap", "loop", "empty passage")


@dataclass(frozen=True)
class StoryMap:
    """The nodes of a story and the edges between them.

    A node is a passage (in games without passages, a page) or an ending. Lists have one entry per
    node. Frequencies are expected numbers per game of random play.
    """

    name: str
    labels: list[str]
    reward: list[float | None]  # of an ending; None for other nodes
    trap: list[bool]  # from some state of the node no ending can be reached
    visits: list[float]  # frequency
    distance: list[int]  # actions from the start
    actions: dict[Edge, dict[str, float]]  # in the order of their pages, with their frequencies
    noun: str = "passage"  # what a node is called
    texts: list[str] = field(default_factory=list)  # one text of each node
    untried: dict[int, list[str]] = field(default_factory=dict)  # actions that were never taken
    paths: list[ClickPath] | None = None  # to each node, if it is not solved
    order: dict[int, list[str]] = field(default_factory=dict)  # actions as the author wrote them
    # Flaws: UNREACHED, UNWRITTEN or WRONG by node, with what is wrong there
    flaws: dict[int, tuple[str, str]] = field(default_factory=dict)
    positions: dict[int, Point] = field(default_factory=dict)  # on the author's map in Twine
    partial: bool = False  # the play-test may not have seen the whole story
    # of a compiled game: the node of each state
    node_of_state: Ints | None = field(default=None, compare=False)

    @cached_property
    def edges(self) -> dict[Edge, float]:
        """The edges, with their frequencies."""
        return {edge: sum(amounts.values()) for edge, amounts in self.actions.items()}


def story_map(compiled: Compiled) -> StoryMap:
    """The map of a compiled game.

    States are grouped by passage, or by text in games without passages. Each ending is a node.
    """
    has_passage = np.array([passage != "" for passage in compiled.passages])[compiled.passage]
    node = _nodes(compiled, has_passage)
    chain = Chain(compiled, uniform(compiled))
    visits = chain.visits()
    states_of_node = np.split(np.argsort(node, kind="stable"), np.cumsum(np.bincount(node))[:-1])
    firsts = [int(states[0]) for states in states_of_node]
    lost = ~chain.leads_to(compiled.ended) & compiled.ended.any()
    starts = np.flatnonzero(compiled.start).tolist()
    edges = zip(chain.origin.tolist(), chain.successor.tolist(), strict=True)
    steps = np.array(_distances(starts, edges, len(compiled)))
    return StoryMap(
        name=compiled.title,
        labels=[
            _ending_label(compiled.endings[compiled.ending_at[state]])
            if compiled.ended[state]
            else compiled.label(state)
            for state in firsts
        ],
        reward=[float(compiled.reward[s]) if compiled.ended[s] else None for s in firsts],
        trap=[bool(lost[states].any()) for states in states_of_node],
        visits=[float(visits[states].sum()) for states in states_of_node],
        distance=[int(steps[states].min()) for states in states_of_node],
        actions=_actions(compiled, node, visits),
        noun="passage" if has_passage.any() else "page",
        texts=[compiled.texts[compiled.text[state]] for state in firsts],
        order=_order(_pages(compiled, node)),
        node_of_state=node,
    )


def _nodes(compiled: Compiled, has_passage: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Ints:
    groups = np.where(has_passage, compiled.passage, len(compiled.passages) + compiled.text)
    groups = np.where(compiled.ended, -1, groups)
    numbers: dict[tuple[int, int], int] = {}
    keys = zip(groups.tolist(), compiled.ending_at.tolist(), strict=True)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.intp)


def _actions(compiled: Compiled, node: Ints, visits: Floats) -> dict[Edge, dict[str, float]]:
    counts = np.diff(compiled.row_first)[compiled.row]
    outcomes = ranges(compiled.row_first[compiled.row], counts)
    slot = np.repeat(np.arange(len(compiled.row)), counts)
    state = compiled.slot_state[slot]
    flow = visits[state] / compiled.count[state] * compiled.probability[outcomes]
    shape = (int(node.max()) + 1, int(node.max()) + 1, len(compiled.actions))
    steps = (node[state], node[compiled.successor[outcomes]], compiled.action[slot])
    kinds, first, index = np.unique(
        np.ravel_multi_index(steps, shape), return_index=True, return_inverse=True
    )
    amounts = np.bincount(index, flow)
    actions: defaultdict[Edge, dict[str, float]] = defaultdict(dict)
    for kind in np.argsort(first):
        source, target, action = map(int, np.unravel_index(kinds[kind], shape))
        actions[source, target][compiled.actions[action]] = float(amounts[kind])
    return dict(actions)


def _pages(compiled: Compiled, node: Ints) -> Iterator[tuple[int, tuple[str, ...]]]:
    for number, page in dict.fromkeys(zip(node.tolist(), compiled.page.tolist(), strict=True)):
        first, last = compiled.page_first[page : page + 2].tolist()
        yield number, tuple(compiled.actions[n] for n in compiled.page_action[first:last])


def _order(pages: Iterable[tuple[int, tuple[str, ...]]]) -> dict[int, list[str]]:
    """Merge the actions of the pages of each node, each new one after the one before it."""
    order: defaultdict[int, list[str]] = defaultdict(list)
    for node, actions in dict.fromkeys(pages):
        names = order[node]
        at = 0
        for action in actions:
            if action not in names:
                names.insert(at, action)
            at = names.index(action) + 1
    return dict(order)


def _ending_label(ending: EndingId) -> str:
    """The name of an ending, or its first words in games that do not name endings."""
    is_unnamed = ending.passage == THE_END and ending.text
    return first_words(ending.text) if is_unnamed else ending.passage


def seen_map(title: str, evidence: Evidence, traps: Collection[str] = ()) -> StoryMap:
    """The map of what a play-test saw. Frequencies are means over its random games.

    `traps` are labels of nodes from which no ending can be reached.
    """
    numbers: dict[Hashable, int] = {}
    first: list[PageRecord] = []  # the first page of each node
    node: dict[Hashable, int] = {}  # of each page
    for key, page in evidence.pages.items():
        group = page.ending or page.passage or page.path.comes_to
        node[key] = numbers.setdefault(group, len(numbers))
        if node[key] == len(first):
            first.append(page)
    actions = _seen_actions(evidence, node)
    visits = [0.0] * len(first)
    visits[:1] = [1.0]
    for (_, target), amounts in actions.items():
        visits[target] += sum(amounts.values())
    order = _order((node[key], page.actions) for key, page in evidence.pages.items())
    taken: defaultdict[int, set[str]] = defaultdict(set)
    for key, page in evidence.pages.items():
        taken[node[key]].update(page.actions[index] for index in page.successors)
    names = [page.passage or first_words(page.path.comes_to) for page in first]
    pages = list(zip(names, first, strict=True))
    return StoryMap(
        name=title,
        labels=[_ending_label(page.ending) if page.ending else name for name, page in pages],
        reward=[evidence.endings[page.ending].reward if page.ending else None for page in first],
        trap=[page.ending is None and name in traps for name, page in pages],
        visits=visits,
        distance=_distances([0], actions, len(first)),
        actions=actions,
        noun="passage" if any(page.passage for page in first) else "page",
        texts=[page.path.comes_to for page in first],
        order=order,
        untried={n: [action for action in order[n] if action not in taken[n]] for n in order},
        paths=[page.path for page in first],
        partial=not evidence.complete,
    )


def _seen_actions(evidence: Evidence, node: dict[Hashable, int]) -> dict[Edge, dict[str, float]]:
    actions: defaultdict[Edge, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for key, page in evidence.pages.items():
        for index, successors in sorted(page.successors.items()):
            for after in successors:
                amount = evidence.steps[key, index, after] / max(evidence.random.games, 1)
                actions[node[key], node[after]][page.actions[index]] += amount
    return {edge: dict(amounts) for edge, amounts in actions.items()}


def _distances(starts: Collection[int], edges: Iterable[Edge], count: int) -> list[int]:
    after: defaultdict[int, list[int]] = defaultdict(list)
    for source, target in edges:
        after[source].append(target)
    steps = dict.fromkeys(starts, 0)
    queue = list(starts)
    for node in queue:
        for target in after[node]:
            if target not in steps:
                steps[target] = steps[node] + 1
                queue.append(target)
    return [steps.get(node, 0) for node in range(count)]


# --- flaws


def with_flaws(drawing: StoryMap, findings: Findings, source: Source) -> StoryMap:
    """Add the flaws of a story to its map, and where Twine's map has its passages."""
    reached = len(drawing.labels)
    labels = list(drawing.labels)
    numbers = {label: n for n, label in reversed(list(enumerate(labels)))}
    flaws: dict[int, tuple[str, str]] = {}
    untaken = [(issue.passage, to) for issue in findings.broken_links for to in issue.targets]
    marks = [(issue.passage, UNREACHED, issue.text) for issue in findings.never_reached]
    marks += [(target, UNWRITTEN, "not written") for _, target in untaken]
    for label, flaw, words in marks:
        if label not in numbers:
            numbers[label] = len(labels)
            labels.append(label)
        flaws.setdefault(numbers[label], (flaw, words))
    for problem in findings.problems:
        if problem.kind in WRONG_KINDS and problem.passage in numbers:
            flaws.setdefault(numbers[problem.passage], (WRONG, problem.text))
    new = set(labels[reached:])
    links = [(name, target) for name, targets in source.links.items() for target in targets]
    untaken += [link for link in links if not new.isdisjoint(link)]
    actions = dict(drawing.actions)
    for origin, target in untaken:  # the words of these links are unknown
        if origin != target and {origin, target} <= numbers.keys():
            actions.setdefault((numbers[origin], numbers[target]), {target: 0.0})
    passages = [source.story.passages.get(label) for label in labels]
    new_texts = [passage.text if passage else "" for passage in passages[reached:]]
    far = max(drawing.distance, default=0) + 1
    return replace(
        drawing,
        labels=labels,
        reward=[*drawing.reward, *[None] * len(new)],
        trap=[*drawing.trap, *[False] * len(new)],
        visits=[*drawing.visits, *[0.0] * len(new)],
        distance=[*drawing.distance, *[far] * len(new)],
        texts=[*drawing.texts, *new_texts],
        actions=actions,
        flaws=flaws,
        positions={n: p.position for n, p in enumerate(passages) if p and p.position},
    )
