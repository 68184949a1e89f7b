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
import urllib.parse
import urllib.request
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from string import Template
from typing import Any

from drrn.arena.match import Match
from drrn.errors import InputError, require
from drrn.files import append_line, read_bytes, read_lines, read_text

PROMPT = Path(__file__).with_name("prompt.txt")
FIELDS = ("title", "history", "page", "actions")
RETRIED = frozenset({408, 409, 425, 429})  # and every status from 500 on
OUT_OF_REACH = 1000  # in place of a status
LONGEST_WAIT = 60.0  # seconds
FIRST_WAIT = 0.5
MAX_REPLY = 2**24  # bytes


@dataclass(frozen=True)
class Answer:
    """The answer to a prompt, and the tokens of both."""

    text: str
    tokens: tuple[int, int] = (0, 0)  # of prompt and answer


@dataclass(frozen=True)
class Options:
    """Options that the players of a tournament share; most are of language models."""

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
        """Return the prompt of a match's current page."""
        earlier = [f"Earlier: {page}\n> {action}\n" for page, action in match.history.pages]
        actions = [f"{number}. {each}" for number, each in enumerate(match.page.actions, 1)]
        parts = (match.game.title, "\n".join(earlier), match.page.text, "\n".join(actions))
        text = Template(self.text).substitute(dict(zip(FIELDS, parts, strict=True)))
        return text.strip() + "\n"


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
    """A server that speaks the OpenAI chat API."""

    def __init__(self, model: str, options: Options) -> None:
        url = options.endpoint or ""
        try:
            parts = urllib.parse.urlsplit(url)
            host = (parts.hostname or "").encode("idna")
            is_valid = parts.scheme in ("http", "https") and host and parts.port != 0
        except ValueError:
            is_valid = False
        if not is_valid:
            raise InputError(f'endpoint "{url}": must be a URL such as http://localhost:8000/v1')
        self.key = os.environ.get(options.key_variable, "").strip()
        if parts.username or parts.password or not (self.key.isascii() and self.key.isprintable()):
            cause = "the key is not plain ASCII, or the endpoint's URL contains a password"
            raise InputError(f"{cause}; put the key into the variable {options.key_variable}")
        path = parts.path.rstrip("/").removesuffix("/chat/completions")
        self.url = parts._replace(path=f"{path}/chat/completions").geturl()
        self.model = model
        self.options = options
        self._open = urllib.request.build_opener(_EveryReply).open

    def answer(self, prompt: str, seed: int) -> Answer:
        """Ask the server, again after an error that may pass; an unreadable reply is empty.

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
        data = json.dumps(body).encode()
        for attempt in range(options.retries + 1):
            wait = FIRST_WAIT * 2**attempt * random.uniform(0.5, 1.5)
            try:
                status, cause, pause = self._post(data)
                wait = pause or wait
            except (OSError, UnicodeError, http.client.HTTPException) as error:
                status = OUT_OF_REACH
                cause = str(getattr(error, "reason", "") or error or type(error).__name__)
            if status < 300:
                with contextlib.suppress(ValueError):
                    return _read_reply(cause)
            elif status < 500 and status not in RETRIED:
                break
            if attempt < options.retries:
                time.sleep(min(wait, LONGEST_WAIT))
        if status < 300:
            return Answer("")
        cause = f"{' '.join(cause.split())[:200]} (attempts: {attempt + 1})"
        cure = f"check --endpoint, the model's name and the variable {options.key_variable}"
        raise InputError(f"{self.url}: {cause}; {cure}; run the same command again to continue")

    def _post(self, body: bytes) -> tuple[int, str, float]:
        """Return the status, the text without the key, and the seconds to wait (0: any)."""
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        request = urllib.request.Request(self.url, body, headers)
        with self._open(request, timeout=self.options.timeout) as reply:
            text = reply.read(MAX_REPLY).decode(errors="replace")
        pause = 0.0
        with contextlib.suppress(TypeError, ValueError):
            pause = max(pause, float(reply.headers["Retry-After"]))
        if reply.status >= 300:
            text = f"HTTP {reply.status} {text}"
        return reply.status, text.replace(self.key or "\0", "(key)"), pause


class _EveryReply(urllib.request.HTTPErrorProcessor):
    """Returns errors and redirects as replies: a redirect would carry the key to another server."""

    def http_response(self, request: Any, response: Any) -> Any:
        return response

    https_response = http_response


def _read_reply(data: str) -> Answer:
    """Return the answer in a reply; raise ValueError if it is not one."""
    try:
        reply = json.loads(data)
        content = reply["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(f"not a reply of the chat API: {error}") from error
    usage = reply["usage"] if isinstance(reply.get("usage"), dict) else {}
    tokens = [usage.get(f"{part}_tokens") for part in ("prompt", "completion")]
    prompt, answer = (count if isinstance(count, int) else 0 for count in tokens)
    return Answer(content if isinstance(content, str) else "", (prompt, answer))


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
        file = {"gguf_file": self.path.name, "local_files_only": True}
        tokenizer = library.AutoTokenizer.from_pretrained(str(self.path.parent), **file)
        model = library.AutoModelForCausalLM.from_pretrained(str(self.path.parent), **file)
        cuda = require("torch", "torch").cuda.is_available()
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
            require("torch", "torch").manual_seed(seed)
            output = model.generate(**inputs, **how)[0]
            count = inputs["input_ids"].shape[1]
            text = tokenizer.decode(output[count:], skip_special_tokens=True)
        return Answer(text, (count, len(output) - count))
