"""What stands in the way of passages that a play-test did not reach, and the cure."""

import math
from collections import Counter
from collections.abc import Iterator

from drrn.stories.authored import INK
from drrn.stories.hosted import patterns
from drrn.stories.hosted.game import HostedGame
from drrn.stories.playtest.coverage import Source, values_text
from drrn.stories.playtest.evidence import Evidence
from drrn.writing import counted, percent

LATE = 0.6  # part of the pages seen, after which a new passage means that more are to be expected
MORE_TIME = 4  # times the limit, which is advised
MIN_SHARE = 0.2  # of all pages seen, for a passage that seems to be a puzzle
MIN_VISITS = 200
MAX_WORDS = 5  # that are listed
MAX_LINES = 6


def obstacles(source: Source, evidence: Evidence, *, exact: bool, limit: float) -> list[str]:
    """Name what hides the passages that were not reached, the largest part first, and the cure.

    `limit` is the play-test's time limit in seconds.
    """
    return [*_only_curious(source, evidence), *_Obstacles(source, evidence, exact, limit).lines()]


def _only_curious(source: Source, evidence: Evidence) -> Iterator[str]:
    """Report passages that random games did not reach, because they were not given the words."""
    passages = evidence.passages
    hidden = [name for name in source.pages if name in passages and passages[name].curious]
    if hidden:
        count = f'{counted(len(hidden), "passage")}, such as "{hidden[0]}",'
        verb = "was" if len(hidden) == 1 else "were"
        games = "only by games that type in words, do not wait for timers, or move the pointer"
        cure = "[inputs] in the TOML gives random games the words to type in"
        yield f"{count} {verb} reached {games}; {cure}."


class _Obstacles:
    """Attributes each unreached passage to the reached one that should lead there, and why."""

    def __init__(self, source: Source, evidence: Evidence, exact: bool, limit: float) -> None:
        self.source = source
        self.evidence = evidence
        self.exact = exact
        self.cure = f"--seconds {max(1, math.ceil(MORE_TIME * limit))}" if limit else "--seconds N"
        reached = evidence.passages.keys()
        self.unreached = [name for name in source.pages if name not in reached]
        self.visits: Counter[str] = Counter()
        for page in evidence.pages.values():
            self.visits[page.passage] += page.visits
        self.untried = {one.passage for one in evidence.pages.values() if one.untried}

    def lines(self) -> list[str]:
        """Return one line for each obstacle, with the number of passages behind it."""
        behind: dict[str, list[str]] = {}
        for name in self.unreached:
            if line := self._obstacle(self._gate(name)):
                behind.setdefault(line, []).append(name)
        lines = []
        for line in sorted(behind, key=lambda line: -len(behind[line]))[:MAX_LINES]:
            names = behind[line]
            example = f'"{names[0]}"' if len(names) == 1 else f'such as "{names[0]}"'
            obstacle, _, cure = line.partition(" → ")
            lines.append(f"{counted(len(names), 'passage')}, {example}: {obstacle}. {cure}.")
        is_late = self.evidence.last_news > LATE * self.evidence.visits
        if self.unreached and not self.exact and is_late:
            late = "New passages turned up until the end: more time will find more"
            lines.append(f"{late} ({self.cure}).")
        return lines

    def _gate(self, name: str) -> tuple[str, str] | None:
        """Return the reached passage through which a passage would be reached, and its link."""
        known = {name}
        queue = [name]
        for target in queue:
            origins = [one for one, to in self.source.links.items() if target in to]
            for origin in origins:
                if origin in self.evidence.passages:
                    is_blocked = (origin, target) in self.source.no_actions
                    return None if is_blocked else (origin, target)
            queue += [origin for origin in origins if origin not in known]
            known.update(origins)
        return None

    def _obstacle(self, gate: tuple[str, str] | None) -> str:
        """Describe what stands in the way, and after an arrow the cure."""
        if gate is None:  # no link names it, which is reported elsewhere
            return self._asking(self.evidence.asking) if len(self.evidence.asking) == 1 else ""
        passage, target = gate
        if passage in self.evidence.asking:
            return self._asking({passage})
        if self.exact:  # a condition that never holds is a problem
            return ""
        text = self.source.story.passages[passage].text
        if patterns.DRAGGED.search(text):
            return f'"{passage}" has things to drag, which is not played → Play it by hand'
        if condition := self.source.condition(passage, target):
            return self._condition(passage, target, condition)
        if self._is_puzzle(passage):
            share = percent(self.visits[passage] / self.visits.total())
            puzzle = f'"{passage}" took {share} of all clicks: a puzzle, or clicks in some order'
            return f"{puzzle} → Use {self.cure}, or test a copy that starts behind it"
        if passage in self.untried:
            return f'not every link of "{passage}" was tried in the time → Use {self.cure}'
        if patterns.TIMED.search(text):
            return f'a timer of "{passage}" hides "{target}", or shows it late → Use {self.cure}'
        if patterns.DRAWN.search(text):
            return f'a random draw in "{passage}" → Use {self.cure}'
        return f'"{passage}" names "{target}" and never showed it → Check when it does'

    def _condition(self, passage: str, target: str, condition: str) -> str:
        names = [f"${name}" for name in patterns.VARIABLE.findall(condition)]
        if not names:
            words = dict.fromkeys(patterns.WORD.findall(condition))
            names = [f"${name}" for name in words if f"${name}" in self.evidence.variables]
        values = []
        for name in dict.fromkeys(names):
            known = list(self.evidence.variables.get(name, {}).values())
            was = (
                f"was only {values_text(known)}" if len(known) == 1 else f"was {values_text(known)}"
            )
            values.append(f"{self.source.name_of(name)} {was if known else 'was never set'}")
        shows = f'"{passage}" shows its link to "{target}" only if {condition}'
        cure = f"Check where the story sets it, or use {self.cure}"
        if patterns.DRAWN.search(condition):
            shows += " (a random draw)"
            cure = f"Use {self.cure}"
        return f"{shows}{'; ' + ', '.join(values) if values else ''} → {cure}"

    def _asking(self, passages: set[str]) -> str:
        game = self.source.game
        words = list(dict.fromkeys(game.stage.words)) if isinstance(game, HostedGame) else []
        tried = "the story compares with no word that could be tried"
        if words:
            more = ", …" if len(words) > MAX_WORDS else ""
            listed = ", ".join(words[:MAX_WORDS]) + more
            tried = f"{counted(len(words), 'word')} of the story did not help ({listed})"
        cure = "Give the word in [inputs] of the TOML"
        return f'"{min(passages)}" asks for a typed word or passcode; {tried} → {cure}'

    def _is_puzzle(self, passage: str) -> bool:
        """Return whether games spent much time in a passage, mostly without leaving it."""
        visits = self.visits[passage]
        if visits < max(MIN_VISITS, MIN_SHARE * self.visits.total()) or self.source.engine == INK:
            return False
        pages = self.evidence.pages
        own = [page for page in pages.values() if page.passage == passage]
        after = [key for page in own for keys in page.successors.values() for key in keys]
        stays = sum(pages[key].passage == passage for key in after if key in pages)
        return 2 * stays >= len(after)
