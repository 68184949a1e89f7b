"""The simulator's one function of rewards, as rules in our TOML."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass

from drrn.lab.authors.python2 import dotted, function_named, number_literal, strange, string_literal
from drrn.lab.authors.twee_source import Told
from drrn.stories.twine.story import unescape_html

FUNCTION = "AssignReward"
ENTITY = re.compile(r"&#?\w+;")
STEP = -0.1  # in both games of the paper


@dataclass(frozen=True, slots=True)
class EndingReward:
    """What an ending pays, and the words that it is known by."""

    how: str  # `contains` or `starts_with`
    words: str  # as the source has them
    reward: float

    @property
    def recognised(self) -> bool:
        """Whether the published simulator finds it: its filter takes all entities off a text before it looks."""
        return not ENTITY.search(self.words)


@dataclass(frozen=True)
class Rewards:
    """What the simulator pays: endings, steps, and how an ending is known."""

    payments: tuple[EndingReward, ...]
    step: float  # for a page that does not end the story
    end_mark: str | None  # what only the pages of endings hold
    otherwise: float

    @classmethod
    def read(cls, tree: ast.Module, story: str) -> Rewards:
        """What the function pays in one story."""
        function = function_named(tree, FUNCTION)
        *cases, last = function.body
        if not isinstance(last, ast.Return) or last.value is None:
            raise strange(last, "a reward at the end")
        step = 0.0
        mark = None
        payments: list[EndingReward] = []
        for statement in _rules_of(cases, story, function):
            match statement:
                case ast.If(
                    ast.UnaryOp(ast.Not(), test), [ast.Return(ast.expr() as reward)], []
                ) if not payments:
                    step = number_literal(reward)
                    mark = _words(test)[1]
                case ast.If(test, [ast.Return(ast.expr() as reward)], []):
                    payments.append(EndingReward(*_words(test), number_literal(reward)))
                case _:
                    raise strange(statement, "words in an ending, and their reward")
        return cls(tuple(payments), step, mark, number_literal(last.value))

    def toml(
        self, title: str, name: str, told: Told, *, as_published: bool, paraphrased: bool
    ) -> str:
        """`as_published` keeps to the code; else each ending has the reward that the paper gives it.

        A rule is written once for each passage in which its words stand, so that endings are known by their passages.
        """
        kind = "as the published code pays them" if as_published else "as the paper has them"
        lines = [f"# Made by `drrn games add`; rewards {kind}.", f"title = {_quoted(title)}"]
        lines += [f'story = "{name}.twee"'] + [
            f'paraphrases = "{name}.paraphrases.tsv"'
        ] * paraphrased
        lines += [f"step_reward = {self.step if as_published else STEP}", "max_steps = 500"]
        lines += [f"default_reward = {self.otherwise}"]
        if self.end_mark is not None:
            lines.append(f"ends = {{ contains = {_quoted(self.end_mark)} }}")
        for payment in self.payments:
            words = unescape_html(payment.words)
            for passage, said in told.saying(words) or [("", words)]:
                recognised = payment.recognised and said == words
                reward = payment.reward if recognised or not as_published else self.otherwise
                lines += ["", "[[ending]]"] + [f"passage = {_quoted(passage)}"] * bool(passage)
                lines += [f"{payment.how} = {_quoted(said)}", f"reward = {reward}"]
        return "\n".join(lines) + "\n"


def _rules_of(cases: list[ast.stmt], story: str, function: ast.FunctionDef) -> list[ast.stmt]:
    """The statements under `if story.lower() == …`."""
    for statement in cases:
        match statement:
            case ast.If(ast.Compare(ast.Call(called, [], []), [ast.Eq()], [name]), body, []):
                if dotted(called) == "story.lower" and string_literal(name) == story:
                    return body
    raise strange(function, f'the rewards of "{story}"')


def _words(test: ast.expr) -> tuple[str, str]:
    """How and what: `ending.startswith("…")`, or `"…" in ending`."""
    match test:
        case ast.Call(called, [words], []) if dotted(called) == "ending.startswith":
            return "starts_with", string_literal(words)
        case ast.Compare(words, [ast.In()], [text]) if dotted(text) == "ending":
            return "contains", string_literal(words)
    raise strange(test, "words in an ending")


def _quoted(text: str) -> str:
    """A TOML string; JSON writes it the same way."""
    return json.dumps(text, ensure_ascii=False)
