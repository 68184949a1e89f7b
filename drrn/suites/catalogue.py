"""The suites that can be played, as data: a new one is an entry here and an adaptor beside it."""

from __future__ import annotations

from drrn.suites.suite import Suite, SuiteOption

FOLDS = ("train", "dev", "test")
# Java's identity hashes as constants: sets of objects then keep the order in which things were put into them.
SAME_HASHES = "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockExperimentalVMOptions -XX:hashCode=2"

_ALL = (
    Suite(
        "twx",
        "TextWorldExpress",
        module="textworld_express",
        package="textworld-express",
        adaptor="drrn.suites.twx:TwxEnvironment",
        example="coin",
        parts=("observation", "look", "inventory", "task"),
        text=("observation", "look", "inventory"),
        max_steps=100,
        repeats="a seed chooses the variation, and makes the whole episode",
        options=(
            SuiteOption("fold", "train", choices=FOLDS),
            SuiteOption("seed", least=0),
            SuiteOption("variations", least=1),
        ),
        properties=True,
        java=True,
        # The quick compiler alone: in 2,000 steps of cooking it took half the time of both, start included.
        java_options="-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        aliases={"cooking": "cookingworld", "commonsense": "twc", "common-sense": "twc"},
        fallback=("look around",),
    ),
    Suite(
        "textworld",
        "TextWorld",
        module="textworld",
        package="textworld",
        adaptor="drrn.suites.textworld:TextWorldEnvironment",
        example="PATH.z8",
        parts=("objective", "feedback", "description", "inventory"),
        text=("description", "inventory"),
        max_steps=100,
        repeats="a file is one game without chance: every episode begins alike",
        of_file=True,
    ),
    Suite(
        "jericho",
        "Jericho",
        module="jericho",
        package="jericho",
        adaptor="drrn.suites.jericho:JerichoEnvironment",
        example="PATH.z5",
        parts=("feedback", "look", "inventory"),
        text=("feedback", "look", "inventory"),
        max_steps=100,
        repeats="a seed makes the game's chance; menus=state if the lists of actions must repeat in every process, too",
        options=(
            SuiteOption("seed", least=1),
            SuiteOption("tagger", "dictionary", choices=("dictionary", "spacy")),
            SuiteOption("menus", "world", choices=("world", "state")),
        ),
        of_file=True,
        fallback=("no", "wait", "yes"),  # as Jericho's own agents do
    ),
    Suite(
        "scienceworld",
        "ScienceWorld",
        module="scienceworld",
        package="scienceworld",
        adaptor="drrn.suites.scienceworld:ScienceWorldEnvironment",
        example="boil",
        parts=("task", "observation", "look", "inventory"),
        text=("task", "observation", "look", "inventory"),
        max_steps=100,
        repeats="1.2.3 does not repeat by itself (its sets follow Java's identity hashes); with the option "
        "that we give Java, it did in all that was tried",
        options=(
            SuiteOption("fold", "train", choices=FOLDS),
            SuiteOption("variation", least=0),
            SuiteOption("variations", least=1),
            SuiteOption(
                "simplifications",
                "",
                choices=(
                    "easy", "teleportAction", "selfWateringFlowerPots", "openContainers", "openDoors",
                    "noElectricalAction",
                ),
                several=True,
            ),
        ),
        java=True,
        java_options=f"-XX:+UseSerialGC {SAME_HASHES}",
        fallback=("look around",),
    ),
)  # fmt: skip

SUITES = {suite.name: suite for suite in _ALL}
