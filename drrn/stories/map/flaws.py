"""Flaws on the map: passages never reached, targets that are not written, errors and traps."""

from dataclasses import replace

from drrn.stories.map.story_map import UNREACHED, UNWRITTEN, WRONG, StoryMap
from drrn.stories.playtest.coverage import Source
from drrn.stories.playtest.findings import Findings
from drrn.stories.twine.story import Story

WRONG_KINDS = ("thrown error", "error page", "trap", "loop", "empty passage")


def with_flaws(drawing: StoryMap, findings: Findings, source: Source) -> StoryMap:
    """Add the flaws of a story to its map, and where Twine's map has its passages."""
    flaws = _Flaws(drawing)
    for issue in findings.never_reached:
        flaws.mark(issue.passage, UNREACHED, issue.what)
    for issue in findings.broken_links:
        for target in issue.targets:
            flaws.mark(target, UNWRITTEN, "not written")
            flaws.link(issue.passage, target)
    for problem in findings.problems:
        if problem.kind in WRONG_KINDS and problem.passage in flaws.numbers:
            flaws.mark(problem.passage, WRONG, problem.text)
    for name, targets in source.links.items():
        for target in targets:
            if flaws.is_new(name) or flaws.is_new(target):
                flaws.link(name, target)
    return flaws.added_to(drawing, source.story)


class _Flaws:
    """Nodes and links that a map lacks, and what is wrong with its nodes."""

    def __init__(self, drawing: StoryMap) -> None:
        self.reached = len(drawing.labels)
        self.labels = list(drawing.labels)
        self.numbers = {label: n for n, label in reversed(list(enumerate(self.labels)))}
        self.actions = dict(drawing.actions)
        self.flaws: dict[int, tuple[str, str]] = {}

    def mark(self, label: str, flaw: str, words: str) -> None:
        if label not in self.numbers:
            self.numbers[label] = len(self.labels)
            self.labels.append(label)
        self.flaws.setdefault(self.numbers[label], (flaw, words))

    def is_new(self, label: str) -> bool:
        return self.numbers.get(label, -1) >= self.reached

    def link(self, origin: str, target: str) -> None:
        """Add a link that no game took; its words are unknown."""
        if origin != target and {origin, target} <= self.numbers.keys():
            edge = (self.numbers[origin], self.numbers[target])
            self.actions.setdefault(edge, {target: 0.0})

    def added_to(self, drawing: StoryMap, story: Story) -> StoryMap:
        passages = [story.passages.get(label) for label in self.labels]
        new = passages[self.reached :]
        far = max(drawing.distance, default=0) + 1
        return replace(
            drawing,
            labels=self.labels,
            reward=[*drawing.reward, *[None] * len(new)],
            trap=[*drawing.trap, *[False] * len(new)],
            visits=[*drawing.visits, *[0.0] * len(new)],
            distance=[*drawing.distance, *[far] * len(new)],
            texts=[*drawing.texts, *[passage.text if passage else "" for passage in new]],
            actions=self.actions,
            flaws=self.flaws,
            positions={n: p.position for n, p in enumerate(passages) if p and p.position},
        )
