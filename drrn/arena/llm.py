"""Language models as players: a prompt, an endpoint or a local file, and a cache of answers.

An endpoint speaks the OpenAI chat API. Its key comes from an environment variable, and is never
written to a row, a cache, a log or an error.
"""

import contextlib
import hashlib
import http.client
import json
import math
import os
import random
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from string import Template
from typing import Any, NoReturn

from drrn.arena.match import Match
from drrn.errors import InputError, require
from drrn.files import make_folder, read_bytes, read_text

PROMPT = Path(__file__).with_name("prompt.txt")
FIELDS = ("title", "history", "page", "actions")
KEY_VARIABLE = "OPENAI_API_KEY"
RETRIED = frozenset({408, 409, 425, 429})  # and every status from 500 on
LONGEST_WAIT = 60.0  # seconds
FIRST_WAIT = 0.5
MAX_REPLY = 2**24  # bytes


@dataclass(frozen=True)
class Answer:
    """The answer to a prompt, and the tokens of both."""

    text: str
    prompt_tokens: int = 0
    answer_tokens: int = 0


@dataclass(frozen=True)
class Options:
    """Options that the players of a tournament share; most are of language models."""

    folder: Path  # of the cache of answers
    history: int = 2  # earlier pages in a prompt
    endpoint: str | None = None
    key_variable: str = KEY_VARIABLE
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
        self.path = path or PROMPT
        self.text = read_text(self.path)
        marked = {name: f"\0{name}" for name in FIELDS}
        try:
            filled = Template(self.text).substitute(marked)
        except (KeyError, ValueError):
            filled = ""
        if marked["page"] not in filled or marked["actions"] not in filled:
            names = ", ".join(f"${name}" for name in FIELDS)
            cause = f"a prompt needs $page and $actions; the fields are {names}, and $$ is a dollar"
            raise InputError(f"{self.path}: {cause}")

    def fill(self, match: Match) -> str:
        """Return the prompt of a match's current page."""
        earlier = [f"Earlier: {page}\n> {action}\n" for page, action in match.history.pages]
        actions = [f"{number}. {each}" for number, each in enumerate(match.page.actions, 1)]
        text = Template(self.text).substitute(
            title=match.game.title,
            history="\n".join(earlier),
            page=match.page.text,
            actions="\n".join(actions),
        )
        return text.strip() + "\n"


class Answers:
    """A cache of answers in a file: one JSON object a line, by the hash of model and prompt."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._answers: dict[str, Answer] = {}
        text = read_text(path) if path.exists() else ""
        for line in text.splitlines():
            with contextlib.suppress(ValueError, TypeError, KeyError):  # a line that was cut short
                row = json.loads(line)
                self._answers[row["key"]] = Answer(row["text"], *row["tokens"])
        self._cut = bool(text) and not text.endswith("\n")

    def get(self, key: str) -> Answer | None:
        """Return the answer of a key; None if it is not known."""
        return self._answers.get(key)

    def add(self, key: str, answer: Answer) -> None:
        """Save an answer."""
        tokens = [answer.prompt_tokens, answer.answer_tokens]
        line = json.dumps({"key": key, "text": answer.text, "tokens": tokens})
        with self._lock:
            make_folder(self.path.parent)
            with self.path.open("a", encoding="utf-8") as file:
                file.write("\n" * self._cut + line + "\n")
            self._cut = False
            self._answers[key] = answer


class Endpoint:
    """A server that speaks the OpenAI chat API."""

    def __init__(self, model: str, options: Options) -> None:
        url = options.endpoint or ""
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f'endpoint "{url}": must be a URL such as http://localhost:8000/v1')
        if parts.username or parts.password:
            cure = f"put it into the environment variable {options.key_variable}"
            raise InputError(f"the endpoint's URL contains a password; {cure}")
        path = parts.path.rstrip("/").removesuffix("/chat/completions")
        self.url = parts._replace(path=f"{path}/chat/completions").geturl()
        self.model = model
        self.options = options
        self._open = urllib.request.build_opener(_NoRedirects).open
        self._sleep = time.sleep

    def answer(self, prompt: str, seed: int) -> Answer:
        """Ask the server, again after an error that may pass.

        A reply that stays unreadable is an empty answer.

        Raises:
            InputError: The server refuses, or stays out of reach.
        """
        options = self.options
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": options.temperature,
            "max_tokens": options.max_tokens,
        }
        if options.temperature:
            body["seed"] = seed
        cause = ""
        malformed = False
        for attempt in range(options.retries + 1):
            wait = FIRST_WAIT * 2**attempt * random.uniform(0.5, 1.5)
            malformed = False
            try:
                return _read_reply(self._post(json.dumps(body).encode()))
            except urllib.error.HTTPError as error:
                cause = _describe(error)
                if error.code not in RETRIED and error.code < 500:
                    self._fail(cause)
                wait = _retry_after(error) or wait
            except ValueError as error:
                malformed = True
                cause = str(error)
            except (OSError, http.client.HTTPException) as error:
                cause = str(getattr(error, "reason", "") or error or type(error).__name__)
            if attempt < options.retries:
                self._sleep(min(wait, LONGEST_WAIT))
        if malformed:
            return Answer("")
        self._fail(f"{cause} ({options.retries + 1} attempts)")

    def _post(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json"}
        key = os.environ.get(self.options.key_variable)
        if key:
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(self.url, body, headers)
        with self._open(request, timeout=self.options.timeout) as reply:
            data: bytes = reply.read(MAX_REPLY)
        return data

    def _fail(self, cause: str) -> NoReturn:
        key = os.environ.get(self.options.key_variable)
        cause = cause.replace(key, "(key)") if key else cause
        cure = f"check --endpoint, the model's name and the variable {self.options.key_variable}"
        raise InputError(f"{self.url}: {cause}; {cure}; run the same command again to continue")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: they would carry the key to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _read_reply(data: bytes) -> Answer:
    """Return the answer in a reply; raise ValueError if it is not one."""
    try:
        reply = json.loads(data)
        content = reply["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"not a reply of the chat API: {error}") from error
    usage = reply.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    tokens = [count if isinstance(count, int) else 0 for count in counts]
    return Answer(content if isinstance(content, str) else "", *tokens)


def _describe(error: urllib.error.HTTPError) -> str:
    detail = ""
    with contextlib.suppress(OSError, http.client.HTTPException):
        detail = " ".join(error.read(2000).decode(errors="replace").split())[:200]
    return f"HTTP {error.code} {detail}".strip()


def _retry_after(error: urllib.error.HTTPError) -> float:
    """Return the seconds that the server asks to wait; 0 if it does not say."""
    with contextlib.suppress(TypeError, ValueError):
        return max(0.0, float(error.headers["Retry-After"]))
    return 0.0


class LocalModel:
    """A model in a GGUF file, run by transformers on this machine; one answer at a time."""

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
        require("gguf", "llm")
        library = require("transformers", "llm")
        library.utils.logging.disable_progress_bar()
        kinds = (library.AutoTokenizer, library.AutoModelForCausalLM)
        folder = str(self.path.parent)
        tokenizer, model = (
            kind.from_pretrained(folder, gguf_file=self.path.name, local_files_only=True)
            for kind in kinds
        )
        cuda = require("torch", "torch").cuda.is_available()
        return tokenizer, model.to("cuda" if cuda else "cpu")

    def answer(self, prompt: str, seed: int) -> Answer:
        temperature = self.options.temperature
        with self._lock:
            tokenizer, model = self._parts
            messages = [{"role": "user", "content": prompt}]
            choices = {"add_generation_prompt": True, "return_tensors": "pt", "return_dict": True}
            inputs = tokenizer.apply_chat_template(messages, **choices).to(model.device)
            how: dict[str, Any] = {"do_sample": False}
            if temperature:
                require("torch", "torch").manual_seed(seed)
                how = {"do_sample": True, "temperature": temperature}
            how["max_new_tokens"] = self.options.max_tokens
            output = model.generate(**inputs, **how)[0]
            count = inputs["input_ids"].shape[1]
            text = tokenizer.decode(output[count:], skip_special_tokens=True)
        return Answer(text, count, len(output) - count)
