"""Language models as players: a prompt, an endpoint or a local file, and a cache of answers.

An endpoint speaks the OpenAI chat API. Its key comes from an environment variable, and is never
written to a row, a cache, a log or an error.
"""

import contextlib
import copy
import hashlib
import json
import math
import os
import re
import threading
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from string import Template
from typing import Any

from textgames.compiled.oracle import check_rewards, solve_game
from textgames.errors import InputError, require
from textgames.files import append_line, read_bytes, read_lines, read_text
from textgames.openers import make
from textgames_arena.match import Match

PROMPT = Path(__file__).with_name("prompt.txt")
FIELDS = ("title", "history", "page", "actions")


@dataclass(frozen=True)
class Answer:
    """The answer to a prompt, and the tokens of both."""

    text: str
    tokens: tuple[int, int] = (0, 0)  # of prompt and answer


@dataclass(frozen=True)
class Options:
    """Options of language models, which all players of a tournament share."""

    folder: Path  # of the cache of answers
    history: int = 2  # earlier pages in a prompt
    endpoint: str | None = None
    key_variable: str = "OPENAI_API_KEY"
    prompt: Path | None = None  # a template
    concurrency: int = 4  # matches at once
    temperature: float = 0.0
    max_tokens: int = 32
    timeout: float = 60.0  # seconds
    retries: int = 5
    sha256: str = ""  # of a local model's file


class Prompt:
    """A template with $title, $history, $page and $actions, which are numbered from 1."""

    def __init__(self, path: Path | None = None) -> None:
        self.text = read_text(path or PROMPT)
        try:
            filled = Template(self.text).substitute({name: f"\0{name}" for name in FIELDS})
        except (KeyError, ValueError):
            filled = ""
        if "\0page" not in filled or "\0actions" not in filled:
            cause = "a prompt needs $page and $actions, may have $title and $history"
            raise InputError(f"{path}: {cause}, and writes $$ for a dollar")

    def fill(self, match: Match) -> str:
        """The prompt of a match's current page."""
        earlier = [f"Earlier: {page}\n> {action}\n" for page, action in match.history.pages]
        actions = [f"{number}. {each}" for number, each in enumerate(match.page.actions, 1)]
        parts = (match.game.title, "\n".join(earlier), match.page.text, "\n".join(actions))
        text = Template(self.text).substitute(dict(zip(FIELDS, parts, strict=True)))
        return text.strip() + "\n"


class TextMatch(Match):
    """A match of texts: a prompt for each page, and answers in words."""

    def __init__(
        self, game: str = "night-market", rewards: str = "game", history: int = 2, **options: Any
    ) -> None:
        """Open and solve a game.

        Args:
            game: The name or the path of a game.
            rewards: "game" or "advantage".
            history: The number of earlier pages in a prompt.
            options: Options of `drrn.make`.
        """
        super().__init__(solve_game(make(game, **options)), history)
        self.rewards = check_rewards(rewards)
        self.prompt = Prompt()

    def another(self) -> "TextMatch":
        """A new match in the same game, which is not solved again."""
        match = copy.copy(self)
        match.game = self.game.another()
        return match

    @property
    def text(self) -> str:
        """The prompt of the current page, or the text of the last one."""
        return self.page.text if self.over else self.prompt.fill(self)

    def answer(self, text: str) -> float:
        """Take the action that a text names, and return its reward."""
        self.decide(text)
        return self.reward(self.rewards)

    def facts(self) -> dict[str, Any]:
        """What is known of the match so far."""
        regrets = [decision.regret for decision in self.decisions]
        return {
            "regret": regrets[-1] if regrets else 0.0,
            "total_regret": sum(regrets),
            "score": self.total,
            "readable": sum(decision.readable for decision in self.decisions),
            "decisions": len(regrets),
        }


class Answers(dict[str, Answer]):
    """A cache of answers in a file: one JSON object a line, by the hash of model and prompt."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        for line in read_lines(path) if path.exists() else ():
            with contextlib.suppress(ValueError, TypeError, KeyError):  # a line that was cut short
                row = json.loads(line)
                prompt, answer = row["tokens"]
                self[row["key"]] = Answer(row["text"], (prompt, answer))

    def add(self, key: str, answer: Answer) -> None:
        """Save an answer."""
        with self._lock:
            append_line(self.path, json.dumps({"key": key, **asdict(answer)}))
            self[key] = answer


class Endpoint:
    """A server that speaks the OpenAI chat API, called by the package openai."""

    def __init__(self, model: str, options: Options) -> None:
        self.library = require("openai")
        self.model = model
        self.options = options
        self.url = _checked_url(options.endpoint or "")
        self.key = os.environ.get(options.key_variable, "").strip()
        if not (self.key.isascii() and self.key.isprintable()):
            raise InputError(f"the key in the variable {options.key_variable} is not plain ASCII")
        self.client = self.library.OpenAI(
            base_url=self.url,
            api_key=self.key or "none",  # local servers need none, but the package does
            timeout=options.timeout,
            max_retries=options.retries,
        )

    def answer(self, prompt: str, seed: int) -> Answer:
        """Ask the server. A reply that cannot be read is an empty answer.

        Raises:
            InputError: The server refuses, or stays out of reach.
        """
        try:
            reply = self.client.chat.completions.create(
                model=self.model,
                messages=[{"role": "user", "content": prompt}],
                temperature=self.options.temperature,
                max_tokens=self.options.max_tokens,
                **({"seed": seed} if self.options.temperature else {}),
            )
            text = reply.choices[0].message.content or ""
        except self.library.APIError as error:
            cause = self._without_key(f"{error} {error.__cause__ or ''}")
            cure = (
                f"check --endpoint, the model's name and the variable {self.options.key_variable}"
            )
            cause = f"{' '.join(cause.split())[:200]}; {cure}"
            raise InputError(
                f"{self.url}: {cause}; run the same command again to continue"
            ) from None
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return Answer("")
        usage = getattr(reply, "usage", None)
        tokens = (usage.prompt_tokens, usage.completion_tokens) if usage else (0, 0)
        return Answer(self._without_key(text), tokens)

    def _without_key(self, text: str) -> str:
        return text.replace(self.key or "\0", "(key)")


def _checked_url(url: str) -> str:
    if not re.fullmatch(r"https?://([\w.-]+|\[[\da-fA-F:.]+\])(:\d+)?(/[^@\s]*)?", url):
        raise InputError("the endpoint must be a URL without a password: http://localhost:8000/v1")
    return url.rstrip("/").removesuffix("/chat/completions")


class LocalModel:
    """A model in a GGUF file. transformers runs it on this machine, one answer at a time."""

    def __init__(self, path: Path, options: Options) -> None:
        digest = hashlib.sha256(read_bytes(path, largest=math.inf)).hexdigest()
        if options.sha256 not in ("", digest):
            raise InputError(f"{path}: SHA-256 is {digest}; expected {options.sha256}")
        self.path = path
        self.options = options
        self.model = f"sha256:{digest}"
        self._lock = threading.Lock()

    @cached_property
    def _parts(self) -> tuple[Any, Any]:
        """The tokenizer and the model."""
        require("gguf")
        library = require("transformers")
        library.utils.logging.disable_progress_bar()
        file = {"gguf_file": self.path.name, "local_files_only": True}
        tokenizer = library.AutoTokenizer.from_pretrained(str(self.path.parent), **file)
        model = library.AutoModelForCausalLM.from_pretrained(str(self.path.parent), **file)
        cuda = require("torch").cuda.is_available()
        return tokenizer, model.to("cuda" if cuda else "cpu")

    def answer(self, prompt: str, seed: int) -> Answer:
        how: dict[str, Any] = {"do_sample": False, "max_new_tokens": self.options.max_tokens}
        if self.options.temperature:
            how |= {"do_sample": True, "temperature": self.options.temperature}
        with self._lock:
            tokenizer, model = self._parts
            messages = [{"role": "user", "content": prompt}]
            choices = {"add_generation_prompt": True, "return_tensors": "pt", "return_dict": True}
            inputs = tokenizer.apply_chat_template(messages, **choices).to(model.device)
            require("torch").manual_seed(seed)
            output = model.generate(**inputs, **how)[0]
            count = inputs["input_ids"].shape[1]
            text = tokenizer.decode(output[count:], skip_special_tokens=True)
        return Answer(text, (count, len(output) - count))
