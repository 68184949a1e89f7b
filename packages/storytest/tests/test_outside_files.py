"""A TOML names files outside its folder only if the user allows it."""

import pytest

import textgames
from tests.commands import main
from tests.runs import resume_command, train

PARAPHRASES = "original\tparaphrase\nGo out.\tLeave.\n"


@pytest.mark.parametrize("key", ["story", "paraphrases", "a link"])
def test_a_toml_may_name_files_outside_its_folder_only_with_the_option(key, tale, tmp_path, capsys):
    (tmp_path / "paraphrases.tsv").write_text(PARAPHRASES)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "tale.twee").write_text(tale.with_suffix(".twee").read_text())
    story = "tale.twee"
    paraphrases = "paraphrases.tsv"
    if key == "story":
        story = "../tale.twee"
    elif key == "paraphrases":
        paraphrases = str(tmp_path / "paraphrases.tsv")
    if key != "paraphrases":
        (folder / paraphrases).write_text(PARAPHRASES)
    if key == "a link":
        (folder / "tale.twee").unlink()
        (folder / "tale.twee").symlink_to(tmp_path / "tale.twee")
    toml = folder / "tale.toml"
    toml.write_text(f'story = "{story}"\nparaphrases = "{paraphrases}"\n')
    command = ["play", str(toml), "--policy", "random", "--episodes", "1"]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert (
        str(toml) in error and "outside the folder of the TOML" in error and error.count("\n") == 1
    )
    assert main([*command, "--outside"]) == 0
    assert textgames.make(toml, outside=True).reset(0).actions


def test_a_resumed_run_may_use_its_outside_files(tale, tmp_path):
    (tmp_path / "folder").mkdir()
    toml = tmp_path / "folder/tale.toml"
    toml.write_text(tale.read_text().replace("tale.twee", "../tale.twee"))
    assert train(toml, tmp_path / "run", "--rounds", "1") == 2
    assert train(toml, tmp_path / "run", "--rounds", "1", "--outside") == 0
    assert main(resume_command(tmp_path / "run")) == 0
    assert main(["evaluate", str(tmp_path / "run"), "--episodes", "2"]) == 0
