"""Games of reading: each page asks a question that its own text answers."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import permutations, product

from textgames.diagnostics.diagnostic import Page, Questions, coined_words


class Order(Questions):
    """Word order: two sentences have the same words and opposite meanings."""

    capability = "word order"
    levels = (2, 3, 6)  # pairs of words
    has_held_out = True
    templates = (  # {0} is right
        "Take the {0} one, do not take the {1} one.",
        "Do not take the {1} one, take the {0} one.",
        "The {0} one is better than the {1} one.",
        "The {1} one is worse than the {0} one.",
        "Leave the {1} one where it is and choose the {0} one.",
        "Choose the {0} one and leave the {1} one where it is.",
    )
    pairs = ("left right", "red blue", "big small", "old new", "round square", "near far")

    def questions(self) -> Iterable[tuple[int, int, bool]]:
        return product(range(len(self.templates)), range(self.size), (False, True))

    def is_held_out(self, question: tuple[int, int, bool]) -> bool:
        return (question[0] + question[1]) % 4 == 0

    def ask(self, question: tuple[int, int, bool]) -> Page:
        template, pair, is_swapped = question
        words = self.pairs[pair].split()
        if is_swapped:
            words.reverse()
        return self.templates[template].format(*words), [f"The {word} one." for word in words]


class Counting(Questions):
    """Counting: the number of coins on the page is the answer."""

    capability = "counting"
    levels = (2, 4, 6)  # most coins
    has_held_out = True
    numbers = ("one", "two", "three", "four", "five", "six")

    def questions(self) -> Iterable[tuple[int, int]]:
        """The numbers of coins and of leaves."""
        return product(range(1, self.size + 1), range(6))

    def is_held_out(self, question: tuple[int, int]) -> bool:
        return sum(question) % 4 == 0

    def ask(self, question: tuple[int, int]) -> Page:
        coins, leaves = question
        things = ["a coin"] * coins + ["a leaf"] * leaves
        self._random.shuffle(things)
        others = (word for word in self.numbers[: self.size] if word != self.numbers[coins - 1])
        actions = [f"Answer {word}." for word in (self.numbers[coins - 1], *others)]
        return f"On the table lie {', '.join(things)}. How many coins are there?", actions


class Numbers(Questions):
    """Numbers: each belongs to the word next to it, and is the reward."""

    capability = "numbers"
    levels = (6, 20, 50)  # highest number
    pages = 10
    has_held_out = True

    def questions(self) -> Iterable[tuple[int, ...]]:
        """Return pairs of different numbers, left and right."""
        return permutations(range(1, self.size + 1), 2)

    def is_held_out(self, question: tuple[int, ...]) -> bool:
        return sum(question) % 5 == 0

    def pays(self, question: tuple[int, ...]) -> Sequence[float]:
        return question

    def ask(self, question: tuple[int, ...]) -> Page:
        left, right = question
        sides = [f"left {left}", f"right {right}"]
        self._random.shuffle(sides)
        actions = ("Open the left drawer.", "Open the right drawer.")
        return f"Coins in the drawers: {', '.join(sides)}.", actions


class Noise(Questions):
    """Noise: one word among many matters, and no text repeats."""

    capability = "noise"
    levels = (30, 300, 600)  # words of a page
    pages = 4
    episodes = 10_000
    has_held_out = True  # other meaningless words
    cues = ("lantern", "feather")
    actions = ("Climb the stairs.", "Cross the yard.")

    def questions(self) -> Iterable[int]:
        return range(len(self.cues))

    def ask(self, question: int) -> Page:
        words = self._random.choices(self._words, k=self.size)
        words[self._random.randrange(self.size)] = self.cues[question]
        return " ".join(words), (self.actions[question], self.actions[1 - question])

    @cached_property
    def _words(self) -> Sequence[str]:
        return coined_words(1_000)[500:] if self.held_out else coined_words(1_000)[:500]


class Paraphrase(Questions):
    """Paraphrase: many sentences mean the same. The meaning decides."""

    capability = "paraphrase"
    levels = ((2, 4), (4, 8), (6, 10))  # ways to say it, things
    has_held_out = True
    guests = ("A friend knocks.", "A thief knocks.", "A merchant knocks.")
    meanings = (
        "Give them the {}|Let them have the {}|Make them a present of the {}|Hand the {} over|"
        "Share the {} with them|Offer them the {}",
        "Hide the {}|Keep the {}|Lock the {} away|Hold on to the {}|Refuse them the {}|"
        "Deny that the {} exists",
        "Sell them the {}|Ask a price for the {}|Trade the {}|Swap the {} for silver|"
        "Charge them for the {}|Let them pay for the {}",
    )
    things = "bread blanket lantern map rope kettle cloak apple letter knife".split()
    manners = ("", " with a smile", " without a word", " at once", " after a while")

    def questions(self) -> Iterable[int]:
        return range(len(self.guests))

    def ask(self, question: int) -> Page:
        order = (question, *(other for other in range(3) if other != question))
        return self.guests[question], [self._random.choice(self._sentences[each]) for each in order]

    @cached_property
    def _sentences(self) -> list[list[str]]:
        phrases, things = self.size
        parts = product(range(phrases), range(things), range(len(self.manners)))
        keys = [key for key in parts if (sum(key) % 4 == 0) == self.held_out]
        return [
            [
                meaning.split("|")[i].format(self.things[j]) + f"{self.manners[k]}."
                for i, j, k in keys
            ]
            for meaning in self.meanings
        ]


class Matching(Questions):
    """Matching: the word of the note is also on one of the drawers."""

    capability = "matching"
    levels = (10, 30, 300)  # drawers on a page, of 300
    pages = 1
    has_held_out = True  # other notes

    def questions(self) -> Iterable[int]:
        return range(300)

    def is_held_out(self, question: int) -> bool:
        return question >= 30

    def ask(self, question: int) -> Page:
        words = coined_words(300)
        others = self._random.sample([*range(question), *range(question + 1, 300)], self.size - 1)
        drawers = [f"Open the drawer {words[number]}." for number in (question, *others)]
        return f"The note says {words[question]}.", drawers


class Combination(Questions):
    """Combination: instructions whose parts are known, put together in new ways."""

    capability = "combination"
    levels = (3, 4, 6)  # verbs, colours and things
    pages = 1
    has_held_out = True
    # Words of the actions and, after the stroke, of the page.
    verbs = "wash/rinse carry/lug paint/varnish hide/conceal mend/repair weigh/lift".split()
    colours = "red/crimson blue/azure white/ivory green/emerald black/ebony yellow/golden".split()
    things = "bowl/dish chest/trunk carpet/rug stool/seat sack/bag flask/bottle".split()

    def questions(self) -> Iterable[tuple[int, ...]]:
        return product(range(self.size), repeat=3)

    def is_held_out(self, question: tuple[int, ...]) -> bool:
        return sum(question) % 4 == 0

    def ask(self, question: tuple[int, ...]) -> Page:
        menu = [question]  # and all that differ in one part
        for place, other in product(range(3), range(self.size)):
            if question[place] != other:
                menu.append((*question[:place], other, *question[place + 1 :]))
        actions = ["{} the {} {}.".format(*self._words(each, 0)).capitalize() for each in menu]
        return "Your aunt asks you to {} the {} {}.".format(*self._words(question, 1)), actions

    def _words(self, parts: tuple[int, ...], language: int) -> list[str]:
        lists = (self.verbs, self.colours, self.things)
        return [words[i].split("/")[language] for words, i in zip(lists, parts, strict=True)]


GAMES = (Order, Counting, Numbers, Noise, Paraphrase, Matching, Combination)
