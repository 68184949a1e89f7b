"""The paper's numbers: (mean, standard deviation over 5 runs)."""

from __future__ import annotations

Reported = tuple[float, float]


def _by_size(rows: dict[str, tuple[Reported, ...]]) -> dict[str, Reported]:
    """Name the scores of models by their sizes: 20, 50 and 100 hidden units."""
    return {
        f"{model}x{size}": score
        for model, scores in rows.items()
        for size, score in zip((20, 50, 100), scores, strict=True)
    }


# Tables 2 and 3: final average reward. Linear has no hidden layer, so it has one number.
SCORES: dict[str, dict[str, Reported]] = {
    "saving-john": {
        "linear": (4.4, 0.4),
        **_by_size(
            {
                "per-action-1": ((2.0, 1.5), (4.0, 1.4), (4.4, 2.0)),
                "per-action-2": ((1.5, 3.0), (4.5, 2.5), (7.9, 3.0)),
                "max-action-1": ((2.9, 3.1), (4.0, 4.2), (5.9, 2.5)),
                "max-action-2": ((4.9, 3.2), (9.0, 3.2), (7.1, 3.1)),
                "drrn-1": ((17.1, 0.6), (18.3, 0.2), (18.2, 0.2)),
                "drrn-2": ((18.4, 0.1), (18.5, 0.3), (18.7, 0.4)),
            }
        ),
    },
    "machine-of-death": {
        "linear": (3.3, 1.0),
        **_by_size(
            {
                "per-action-1": ((0.9, 2.4), (2.3, 0.9), (3.1, 1.3)),
                "per-action-2": ((1.3, 1.2), (2.3, 1.6), (3.4, 1.7)),
                "max-action-1": ((2.0, 1.2), (3.7, 1.6), (4.8, 2.9)),
                "max-action-2": ((2.8, 0.9), (4.3, 0.9), (5.2, 1.2)),
                "drrn-1": ((7.2, 1.5), (8.4, 1.3), (8.7, 0.9)),
                "drrn-2": ((9.2, 2.1), (10.7, 2.7), (11.2, 0.6)),
            }
        ),
    },
}

# The table of rewards on the paraphrased game
PARAPHRASED: dict[str, dict[str, Reported]] = {
    "machine-of-death": {
        **_by_size(
            {
                "per-action-2": ((0.2, 1.2), (2.6, 1.0), (3.6, 0.3)),
                "max-action-2": ((2.5, 1.3), (4.0, 0.9), (5.1, 1.1)),
                "drrn-2": ((7.3, 0.7), (8.3, 0.7), (10.5, 0.9)),
            }
        )
    }
}

# Predictive R² between the Q-values of paraphrased and original actions
PREDICTIVE_R2: dict[str, dict[str, float]] = {
    "machine-of-death": {
        "drrn-2x100": 0.95,
        "drrn-2x100-network": 0.9,
        "max-action-2x100": 0.84,
        "per-action-2x100": 0.97,
    }
}

# The text of section 4.4, and table 1; the names are those of our statistics.
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
        "kind": "choice",
        "state_vocabulary": "1,762",
        "action_vocabulary": "171",
        "words_per_description": "76.67",
        "most_actions": "4",
        "transitions": "deterministic",
        "states": "≥ 70",
        "random_final_reward": "about -7",
    },
    "machine-of-death": {
        "kind": "choice & hypertext",
        "state_vocabulary": "2,258",
        "action_vocabulary": "419",
        "words_per_description": "67.80",
        "most_actions": "9",
        "transitions": "stochastic",
        "states": "≥ 200",
        "random_final_reward": "about -8",
    },
}

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
