"""The paper's numbers: (mean, standard deviation over 5 runs)."""

from __future__ import annotations

Reported = tuple[float, float]

# Tables 2 and 3: final average reward. Linear has no hidden layer, so it has one number.
SCORES: dict[str, dict[str, Reported]] = {
    "saving-john": {
        "linear": (4.4, 0.4),
        "per-action-1x20": (2.0, 1.5), "per-action-1x50": (4.0, 1.4), "per-action-1x100": (4.4, 2.0),
        "per-action-2x20": (1.5, 3.0), "per-action-2x50": (4.5, 2.5), "per-action-2x100": (7.9, 3.0),
        "max-action-1x20": (2.9, 3.1), "max-action-1x50": (4.0, 4.2), "max-action-1x100": (5.9, 2.5),
        "max-action-2x20": (4.9, 3.2), "max-action-2x50": (9.0, 3.2), "max-action-2x100": (7.1, 3.1),
        "drrn-1x20": (17.1, 0.6), "drrn-1x50": (18.3, 0.2), "drrn-1x100": (18.2, 0.2),
        "drrn-2x20": (18.4, 0.1), "drrn-2x50": (18.5, 0.3), "drrn-2x100": (18.7, 0.4),
    },
    "machine-of-death": {
        "linear": (3.3, 1.0),
        "per-action-1x20": (0.9, 2.4), "per-action-1x50": (2.3, 0.9), "per-action-1x100": (3.1, 1.3),
        "per-action-2x20": (1.3, 1.2), "per-action-2x50": (2.3, 1.6), "per-action-2x100": (3.4, 1.7),
        "max-action-1x20": (2.0, 1.2), "max-action-1x50": (3.7, 1.6), "max-action-1x100": (4.8, 2.9),
        "max-action-2x20": (2.8, 0.9), "max-action-2x50": (4.3, 0.9), "max-action-2x100": (5.2, 1.2),
        "drrn-1x20": (7.2, 1.5), "drrn-1x50": (8.4, 1.3), "drrn-1x100": (8.7, 0.9),
        "drrn-2x20": (9.2, 2.1), "drrn-2x50": (10.7, 2.7), "drrn-2x100": (11.2, 0.6),
    },
}  # fmt: skip

# The table of rewards on the paraphrased game.
PARAPHRASED: dict[str, dict[str, Reported]] = {
    "machine-of-death": {
        "per-action-2x20": (0.2, 1.2), "per-action-2x50": (2.6, 1.0), "per-action-2x100": (3.6, 0.3),
        "max-action-2x20": (2.5, 1.3), "max-action-2x50": (4.0, 0.9), "max-action-2x100": (5.1, 1.1),
        "drrn-2x20": (7.3, 0.7), "drrn-2x50": (8.3, 0.7), "drrn-2x100": (10.5, 0.9),
    },
}  # fmt: skip

# Predictive R² between the Q-values of paraphrased and original actions.
PREDICTIVE_R2: dict[str, dict[str, float]] = {
    "machine-of-death": {
        "drrn-2x100": 0.95, "drrn-2x100-network": 0.90, "max-action-2x100": 0.84, "per-action-2x100": 0.97,
    },
}  # fmt: skip

# The text of section 4.4, and table 1; the names are those of our facts.
PARAPHRASES: dict[str, dict[str, float]] = {
    "machine-of-death": {
        "paraphrases": 153,
        "paraphrased_pairs": 532,
        "oov_rate": 0.186,
        "bleu": 0.325,
    }
}
STATISTICS: dict[str, dict[str, str]] = {
    "saving-john": {
        "kind": "choice", "state_vocabulary": "1,762", "action_vocabulary": "171", "words_per_description": "76.67",
        "most_actions": "4", "transitions": "deterministic", "states": "≥ 70", "random_final_reward": "about -7",
    },
    "machine-of-death": {
        "kind": "choice & hypertext", "state_vocabulary": "2,258", "action_vocabulary": "419",
        "words_per_description": "67.80", "most_actions": "9", "transitions": "stochastic", "states": "≥ 200",
        "random_final_reward": "about -8",
    },
}  # fmt: skip

# Q-values of examples by the mark of the state: actions of the game, and their paraphrases. Our
# made-up actions are not the paper's, so they have no numbers here.
EXAMPLES: dict[str, dict[str, float]] = {
    "5d5f5af234e8": {"good": 18.005, "poor": -8.981},
    "887d556059cf": {"good": 14.569, "poor": -9.498},
    "4bbd9cba1bf8": {"good": 16.214, "poor": -7.986},
    "97a2efc1051c": {
        "good": 16.6,
        "poor": -21.5,
        "good paraphrased": 17.5,
        "poor paraphrased": -11.9,
    },
    "68991d48c5ac": {"good": 21.885, "poor": 1.915},
}

# Eight people: their first games, and after they gained experience
PEOPLE: dict[str, dict[str, float]] = {"machine-of-death": {"novice": -5.5, "experienced": 16.0}}
