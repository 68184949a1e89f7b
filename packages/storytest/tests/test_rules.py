"""The TOML of a story: endings, rewards, dropped links, and the errors in it."""

import pytest

import textgames
from textgames.errors import InputError

FORK = """\
:: Start
<<set $gold = 1>>A fork in the road.

[[Left.|Left]]
[[Right.|Right]]
[[Rest.|Rest]]
[[Credits]]

:: Left [doom]
You fall. THE END

:: Right
<<set $gold = 5>>You are rich.

:: Rest
You rest.

[[Go on.|Start]]
[[Rest more.|Rest]]

:: Credits
By us.

[[Start over.|Start]]
"""


def reward_of(game, *actions):
    observation = game.reset(0)
    for action in actions:
        observation = game.step(observation.actions.index(action))
    return observation.reward


CONDITIONS = """passage = "Left"
contains = "fall"
starts_with = "You fall"
ends_with = "END"
regex = "f[a-z]ll"
tag = "doom"
where = "$gold is 1"
"""


@pytest.mark.parametrize("condition", CONDITIONS.splitlines())
def test_each_kind_of_condition_matches_an_ending(story, condition):
    game = story(FORK, f"[[ending]]\n{condition}\nreward = -20\n")
    assert reward_of(game, "Left.") == -20
    assert reward_of(game, "Right.") == 0


def test_all_parts_of_a_condition_must_hold(story):
    game = story(FORK, '[[ending]]\npassage = "Right"\nwhere = "$gold gt 5"\nreward = 9\n')
    assert reward_of(game, "Right.") == 0


def test_the_first_matching_rule_is_used(story):
    rules = '[[ending]]\ncontains = "You"\nreward = 1\n[[ending]]\npassage = "Right"\nreward = 2\n'
    assert reward_of(story(FORK, rules), "Right.") == 1


def test_default_and_step_rewards_are_paid(story):
    game = story(FORK, "default_reward = 3\nstep_reward = -0.25\n")
    assert reward_of(game) == 0
    assert reward_of(game, "Rest.") == -0.25
    assert reward_of(game, "Rest.", "Go on.") == -0.25
    assert reward_of(game, "Right.") == 3


def test_a_displayed_passage_matches_a_condition(story):
    twee = ':: Start\nGo.\n\n[[On.|On]]\n\n:: On\nOn. <<display "Doom">>\n\n:: Doom\nIt ends.\n'
    assert reward_of(story(twee, '[[ending]]\npassage = "Doom"\nreward = -9\n'), "On.") == -9


def test_ends_stops_the_story_on_a_page_with_links(story):
    twee = ":: Start\nGo.\n\n[[On.|On]]\n\n:: On\nTHE END\n\n[[What if?|Start]]\n"
    assert story(twee).reset(0).actions == ("On.",)
    game = story(twee, 'ends = { contains = "THE END" }\n')
    game.reset(0)
    assert game.step(0).ended


def test_dropped_and_restart_links_are_not_actions(story):
    game = story(
        FORK,
        'drop = ["credits"]\nrestart = ["start over"]\n[[ending]]\npassage = "Left"\nreward = 1\n',
    )
    assert game.reset(0).actions == ("Left.", "Right.", "Rest.")
    game = story(FORK, 'restart = ["start over"]\n')
    game.reset(0)
    assert game.step(3).ended


def test_an_event_pays_once_in_an_episode_and_again_in_the_next(story):
    game = story(FORK, 'step_reward = -1\n[[event]]\npassage = "Rest"\nreward = 5\n')
    for _ in range(2):
        assert reward_of(game, "Rest.") == 4
        assert reward_of(game, "Rest.", "Rest more.") == -1


def test_a_paraphrased_action_leads_to_the_same_passage(story, tmp_path):
    (tmp_path / "other.tsv").write_text(
        "original\tparaphrase\nLeft.\tTo the left hand.\n", encoding="utf-8"
    )
    game = story(FORK, 'paraphrases = "other.tsv"\n', paraphrased=True)
    assert game.reset(0).actions == ("To the left hand.", "Right.", "Rest.", "Credits")
    assert game.step(0).text.startswith("You fall")
    assert story(FORK, 'paraphrases = "other.tsv"\n').reset(0).actions[0] == "Left."


ENDING = '[[ending]]\npassage = "Left"\n'


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("step_rewards = 1\n", 'unknown key "step_rewards". Did you mean "step_reward"?'),
        ('step_reward = "a lot"\n', "step_reward: must be a number"),
        ("max_steps = 0\n", "max_steps: must be a whole number from 1"),
        ("title = \n", "not valid TOML"),
        ('[[ending]]\npassage = "Lefft"\nreward = 1\n', 'no passage "Lefft". Did you mean "Left"?'),
        ('[[ending]]\ntag = "dooom"\nreward = 1\n', 'no tag "dooom". Did you mean "doom"?'),
        ('[[ending]]\nwhere = "$glod is 1"\nreward = 1\n', "no passage sets $glod. Did you"),
        ('[[ending]]\nwhere = "$gold is ("\nreward = 1\n', "where = '$gold is (' cannot be parsed"),
        ('[[ending]]\nregex = "("\nreward = 1\n', "regex '(' cannot be used"),
        (
            '[[ending]]\ncontains = "zeppelin"\nreward = 1\n',
            'the word "zeppelin" does not occur in the story',
        ),
        ("[[ending]]\nreward = 1\n", "[[ending]] 1: give at least one of passage, contains"),
        (ENDING, "[[ending]] 1: it has no reward"),
        (
            ENDING + "reward = 1\n" + ENDING + "reward = 2\n",
            "[[ending]] 2 can never match: [[ending]] 1 always matches",
        ),
        ('drop = ["("]\n', "drop: the pattern '(' cannot be used"),
        ('paraphrases = "none.tsv"\n', 'names "none.tsv", which is not a file'),
    ],
)
def test_a_mistake_in_the_toml_is_one_sentence_that_names_the_file(story, toml, message):
    with pytest.raises(InputError) as error:
        story(FORK, toml)
    assert message in str(error.value) and "tale.toml" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_toml_without_a_story_is_rejected(tmp_path):
    (tmp_path / "tale.toml").write_text("title = 'x'\n")
    with pytest.raises(InputError, match="names no story"):
        textgames.make(tmp_path / "tale.toml")


@pytest.mark.parametrize(
    ("tsv", "message"),
    [
        ("Left.\tTo the left.\n", "line 1: the header must be"),
        (
            "original\tparaphrase\nLeft. To the left.\n",
            "line 2: expected an original, a tab and a paraphrase",
        ),
        ("original\tparaphrase\nLeft.\ta\nLeft.\tb\n", 'line 3: "Left." occurs twice'),
    ],
)
def test_a_mistake_in_the_paraphrases_names_its_line(story, tmp_path, tsv, message):
    (tmp_path / "other.tsv").write_text(tsv, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        story(FORK, 'paraphrases = "other.tsv"\n', paraphrased=True)


def test_a_where_condition_reads_visits_and_cannot_set_variables(story):
    twee = ":: Start\nGo.\n\n[[a|A]]\n[[b|B]]\n\n:: A\nA.\n\n[[b|B]]\n\n:: B\nB.\n"
    game = story(twee, "[[ending]]\nwhere = 'visited(\"A\") gt 0'\nreward = 3\n")
    game.reset(0)
    assert game.step(1).reward == 0
    game.reset(0)
    game.step(0)
    assert game.step(0).reward == 3
    for where in ("$x = 5", "random(0, 1)"):
        with pytest.raises(InputError, match="can only compare"):
            story(twee, f"[[ending]]\nwhere = '{where}'\nreward = 3\n")


@pytest.mark.parametrize(
    "toml",
    ["step_reward = nan\n", "step_reward = 1" + "0" * 400 + "\n", "x = " + "[" * 3000 + "\n"],
    ids=["nan", "long", "deep"],
)
def test_invalid_numbers_and_deep_tables_in_a_toml_are_rejected(story, toml):
    with pytest.raises(InputError):
        story(":: Start\nHi.\n", toml)
