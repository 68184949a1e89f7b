"""Formats are fetched by name with npm or git, and a file with another checksum is refused."""

import hashlib
import io
import stat
import subprocess
import tarfile

import pytest

from storytest import packages
from storytest.formats import library_formats
from storytest.packages import Download, command_for, downloads_of, plays
from tests.commands import main
from tests.story_formats import format_js
from textgames.errors import InputError

pytestmark = pytest.mark.usefixtures("home")
REPOSITORY = "example.invalid/twine"


def install_npm(folder, monkeypatch, script):
    """Put a program npm on the path."""
    program = folder / "npm"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.fixture
def npm(tmp_path, monkeypatch):
    """Function that makes npm pack a file, and offers it for download."""

    def offer(text, path="format.js", name="harlowe", version="3.3.9", sha256=None):
        with tarfile.open(tmp_path / "made.tar", "w:gz") as archive:
            entry = tarfile.TarInfo(f"package/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
        install_npm(tmp_path, monkeypatch, f'cp "{tmp_path}/made.tar" package-1.0.0.tgz')
        digest = sha256 or hashlib.sha256(text.encode()).hexdigest()
        files = [Download(name, version, digest, path, package="package@1.0.0")]
        monkeypatch.setattr(packages, "_downloads", lambda: {name: files})
        return files[0]

    return offer


def test_a_name_adds_the_format_from_a_package(npm, capsys):
    npm(format_js())
    assert main(["formats", "add", "Harlowe"]) == 0
    assert capsys.readouterr().out == "Harlowe 3.3.9: added\n"
    assert [one.version for one in library_formats()] == ["3.3.9"]


def test_a_file_with_another_checksum_is_refused(npm, capsys):
    npm(format_js(), sha256="0" * 64)
    assert main(["formats", "add", "harlowe"]) == 2
    assert "checksum is wrong, so it was not added" in capsys.readouterr().err
    assert library_formats() == []


@pytest.mark.parametrize("script", ["exit 1", "true", "echo damaged > package-1.0.0.tgz"])
def test_a_package_that_cannot_be_fetched_is_one_sentence(
    npm, tmp_path, monkeypatch, capsys, script
):
    npm(format_js())
    install_npm(tmp_path, monkeypatch, script)
    assert main(["formats", "add", "harlowe"]) == 2
    error = capsys.readouterr().err
    assert "harlowe 3.3.9 from package@1.0.0 cannot be fetched" in error
    assert error.count("\n") == 1


def test_the_error_without_npm_names_what_to_install(npm, monkeypatch):
    download = npm(format_js())
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match=r"npm is not installed; install Node\.js"):
        download.fetch()


def test_a_file_of_a_repository_is_fetched_and_an_older_one_if_that_fails(
    npm, tmp_path, monkeypatch, capsys
):
    older = npm(format_js(version="3.1.0"), version="3.1.0")
    origin = tmp_path / "origin"
    origin.mkdir()
    (origin / "format.js").write_text(format_js())
    author = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")
    for words in (("init", "-q"), ("add", "."), (*author, "commit", "-qm", "one")):
        subprocess.run(["git", "-C", str(origin), *words], check=True)
    head = subprocess.check_output(["git", "-C", str(origin), "rev-parse", "HEAD"], text=True)
    digest = hashlib.sha256(format_js().encode()).hexdigest()
    newest = Download(
        "harlowe", "3.3.9", digest, "format.js", repository=REPOSITORY, commit=head.strip()
    )
    monkeypatch.setattr(packages, "_downloads", lambda: {"harlowe": [newest, older]})
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", f"https://{REPOSITORY}")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.file://{tmp_path}/nowhere.insteadOf")
    assert main(["formats", "add", "sugarcub", "harlowe"]) == 2  # the second is added nevertheless
    output = capsys.readouterr()
    assert output.out == "Harlowe 3.1.0: added\n"
    assert "older version is tried" in output.err
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.file://{origin}.insteadOf")
    assert main(["formats", "add", "harlowe"]) == 0
    assert capsys.readouterr().out == "Harlowe 3.3.9: added\n"


# The list of the package


def test_names_and_versions_select_a_major_version_with_its_newest_first():
    assert {one.version.split(".")[0] for one in downloads_of("SugarCube")} == {"2"}
    versions = [one.order for one in downloads_of("harlowe@3")]
    assert versions == sorted(versions, reverse=True) and len(versions) > 1
    assert {one.version for one in downloads_of("harlowe@2.1.0")} == {"2.1.0"}
    assert [one.name for one in downloads_of("ink")] == ["ink"]
    with pytest.raises(InputError, match=r"only snowman .* can be fetched; .*add FILE"):
        downloads_of("snowman@7")
    with pytest.raises(InputError, match=r'sugarcub: not a file.* Did you mean "sugarcube"'):
        downloads_of("sugarcub")


def test_the_command_for_a_story_names_a_version_only_if_it_must():
    assert command_for("chapbook", "2.1.0") == "storytest formats add chapbook"
    assert command_for("harlowe", "2.0.0") == "storytest formats add harlowe@2.1.0"
    assert command_for("harlowe", "4.0.0") is None and command_for("twison", "1.0.0") is None


def test_a_format_plays_stories_of_its_own_and_of_older_versions():
    played = "3.3.9 3.1.0, 3.3.1 3.3.9, 3.10.0-beta 3.9, 2.37.3 2".split(", ")
    assert all(plays(*pair.split()) for pair in played) and plays("2.37.3", "")
    not_played = "3.1.0 3.3.9, 2.1.0 3.0.0, 2 2.1".split(", ")
    assert not any(plays(*pair.split()) for pair in not_played)


def test_the_ink_compiler_is_stored_and_checked_at_each_use(npm, home, capsys):
    with pytest.raises(InputError, match=r"tale\.ink: .*storytest formats add ink$"):
        packages.ink_compiler("tale.ink")
    npm("var compiler;", name="ink", version="2.4.0", path="dist/ink-full.js")
    assert main(["formats", "add", "ink"]) == 0
    assert capsys.readouterr().out == "Ink compiler (inkjs 2.4.0): added\n"
    assert packages.ink_compiler("tale.ink") == "var compiler;"
    assert main(["formats"]) == 0 and "no story formats" in capsys.readouterr().out
    next((home / "formats").iterdir()).write_text("var other;")
    with pytest.raises(InputError, match=r"storytest formats add ink$"):
        packages.ink_compiler("tale.ink")
