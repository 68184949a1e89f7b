"""Formats are fetched by name, and a file with another checksum is refused."""

import hashlib
import io
import os
import tarfile

import pytest

from storytest import packages
from storytest.formats import library_formats
from storytest.packages import Download, command_for, downloads_of, numbers, plays
from tests.commands import main
from tests.story_formats import format_js
from textgames.errors import InputError

pytestmark = pytest.mark.usefixtures("home")


def archive_of(text, member):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        entry = tarfile.TarInfo(member)
        entry.size = len(text.encode())
        archive.addfile(entry, io.BytesIO(text.encode()))
    return data.getvalue()


@pytest.fixture
def offer(tmp_path, monkeypatch):
    """Function that offers packages of npm, of a name, by version."""
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text(f'#!/bin/sh\ncp "{tmp_path}/$2.tgz" .\n')
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{npm.parent}{os.pathsep}{os.environ['PATH']}")

    def offer_files(name="harlowe", **versions):
        files = []
        for version, text in versions.items():
            (tmp_path / f"{version}.tgz").write_bytes(archive_of(text, "package/format.js"))
            digest = hashlib.sha256(text.encode()).hexdigest()
            number = version.strip("v").replace("_", ".")
            files.append(Download(name, number, digest, "format.js", package=version))
        monkeypatch.setattr(packages, "_downloads", lambda: {name: files})
        return tmp_path

    return offer_files


def test_a_name_adds_the_format_from_a_package(offer, capsys):
    offer(v3_3_9=format_js())
    assert main(["formats", "add", "Harlowe"]) == 0
    assert capsys.readouterr().out == "Harlowe 3.3.9: added\n"
    assert [one.version for one in library_formats()] == ["3.3.9"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "harlowe 3.3.9 from v3_3_9 cannot be fetched"),
        (b"damaged", "cannot be fetched"),
        (archive_of("x", "package/other.js"), "cannot be fetched"),
        (archive_of("x", "package/format.js"), "checksum is wrong, so it was not added"),
    ],
)
def test_a_file_that_cannot_be_fetched_or_was_changed_is_one_sentence(
    offer, capsys, content, message
):
    file = offer(v3_3_9=format_js()) / "v3_3_9.tgz"
    file.write_bytes(content) if content else file.unlink()
    assert main(["formats", "add", "harlowe"]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert library_formats() == []


def test_without_npm_the_error_names_it(offer, capsys, monkeypatch):
    offer(v3_3_9=format_js())
    monkeypatch.setenv("PATH", "")
    assert main(["formats", "add", "harlowe"]) == 2
    assert "npm is not installed" in capsys.readouterr().err


def test_an_older_format_is_fetched_if_the_newest_cannot_be(offer, capsys):
    folder = offer(v3_3_9=format_js(), v3_1_0=format_js(version="3.1.0"))
    (folder / "v3_3_9.tgz").unlink()
    assert main(["formats", "add", "sugarcub", "harlowe"]) == 2  # the second is added nevertheless
    output = capsys.readouterr()
    assert output.out == "Harlowe 3.1.0: added\n"
    assert "older version is tried" in output.err


# The list of the package


def test_names_and_versions_select_a_major_version_with_its_newest_first():
    assert {one.version.split(".")[0] for one in downloads_of("SugarCube")} == {"2"}
    versions = [numbers(one.version) for one in downloads_of("harlowe@3")]
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


def test_the_ink_compiler_is_stored_and_checked_at_each_use(offer, home, capsys):
    with pytest.raises(InputError, match=r"tale\.ink: .*storytest formats add ink$"):
        packages.ink_compiler("tale.ink")
    offer("ink", v2_4_0="var compiler;")
    assert main(["formats", "add", "ink"]) == 0
    assert capsys.readouterr().out == "Ink compiler (inkjs 2.4.0): added\n"
    assert packages.ink_compiler("tale.ink") == "var compiler;"
    assert main(["formats"]) == 0 and "no story formats" in capsys.readouterr().out
    next((home / "formats").iterdir()).write_text("var other;")
    with pytest.raises(InputError, match=r"storytest formats add ink$"):
        packages.ink_compiler("tale.ink")
