"""Games: searches that end, and files outside the folder of a TOML."""

import resource

import pytest

import drrn
from drrn.cli import main
from drrn.errors import InputError
from drrn.game.contract import Observation
from drrn.stories.twine.renderer import Renderer
from tests.runs import resume_command, train
from tests.sample_games import Walk


def test_a_compilation_does_no_more_than_its_limit(monkeypatch, tmp_path):
    told, outcomes = [], Renderer.outcomes
    monkeypatch.setattr(
        Renderer, "outcomes", lambda *arguments: told.append(1) or outcomes(*arguments)
    )
    with pytest.raises(InputError, match="more than 200 states"):
        drrn.compile_game(drrn.make("night-market"), limit=200, cache=tmp_path)
    assert len(told) < 10 * 200  # of about 100,000


def test_what_a_small_limit_cut_short_is_not_kept_for_others(tmp_path):
    game = drrn.make("long-watch")
    whole = drrn.compile_game(game, cache=False)
    cut = drrn.compile_game(game, limit=whole.live_states, cache=tmp_path)
    assert not cut.raw_complete and cut.live_states == whole.live_states
    assert drrn.compile_game(game, cache=tmp_path).raw_states == whole.raw_states


PARAPHRASES = "original\tparaphrase\nGo out.\tLeave.\n"


@pytest.mark.parametrize("key", ["story", "paraphrases", "a link"])
def test_a_toml_names_files_outside_its_folder_only_when_asked(key, tale, tmp_path, capsys):
    (tmp_path / "said.tsv").write_text(PARAPHRASES)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "tale.twee").write_text(tale.with_suffix(".twee").read_text())
    story, said = "tale.twee", "said.tsv"
    if key == "story":
        story = "../tale.twee"
    elif key == "paraphrases":
        said = str(tmp_path / "said.tsv")
    if key != "paraphrases":
        (folder / said).write_text(PARAPHRASES)
    if key == "a link":
        (folder / "tale.twee").unlink()
        (folder / "tale.twee").symlink_to(tmp_path / "tale.twee")
    toml = folder / "tale.toml"
    toml.write_text(f'story = "{story}"\nparaphrases = "{said}"\n')
    command = ["play", str(toml), "--policy", "random", "--episodes", "1"]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert (
        str(toml) in error and "outside the folder of the TOML" in error and error.count("\n") == 1
    )
    assert main([*command, "--outside"]) == 0
    assert drrn.make(toml, outside=True).reset(0).actions


def test_a_run_goes_on_with_the_files_outside_that_it_was_allowed(tale, tmp_path):
    (tmp_path / "folder").mkdir()
    toml = tmp_path / "folder/tale.toml"
    toml.write_text(tale.read_text().replace("tale.twee", "../tale.twee"))
    assert train(toml, tmp_path / "run", "--rounds", "1") == 2
    assert train(toml, tmp_path / "run", "--rounds", "1", "--outside") == 0
    assert main(resume_command(tmp_path / "run")) == 0
    assert main(["evaluate", str(tmp_path / "run"), "--episodes", "2"]) == 0


class Hall(Walk):
    """A page of so many doors, and so many words, before each stone of the way."""

    doors, more = 2000, 0

    def look_around(self):
        seen = super().look_around()
        doors = tuple(f"door {number % 10} of row {number // 10}" for number in range(self.doors))
        return Observation(
            seen.text + " so on" * self.more, doors if seen.actions else (), seen.reward
        )

    def step(self, index):
        if not 0 <= index < self.doors:
            raise IndexError(index)
        return super().step(index % 2)


@pytest.mark.parametrize("paper", [True, False])
@pytest.mark.parametrize(("doors", "more"), [(2000, 0), (3, 170_000)])
def test_a_page_of_2000_links_or_of_a_megabyte_takes_the_memory_that_it_needs(doors, more, paper):
    hall = Hall()
    hall.doors, hall.more = doors, more
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    few = {
        "rounds": 1,
        "episodes_per_round": 5,
        "replicas": 2,
        "hidden": 20,
        "evaluation_episodes": 2,
    }
    (done,) = drrn.trainer(hall, paper=paper, **few, **({} if paper else {"updates": 10})).train()
    assert done.transitions >= 10
    assert (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000
    )  # kB; it was 8,400,000
