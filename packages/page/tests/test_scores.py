"""Scores of people: a CSV file, and the averages of novices and experienced players."""

import csv

from textgames import scores

HEADER = "when,game,player,seed,undone,steps,final_reward,total,ending\n"


def write_scores(path, rows):
    text = HEADER
    for game, player, undone, reward in rows:
        text += f"2026-01-01,{game},{player},1,{undone},3,{reward},0,Up\n"
    path.write_text(text)
    return path


def test_appended_rows_are_read_by_their_columns(tmp_path):
    path = tmp_path / "deep" / "scores.csv"
    games = [
        scores.FinishedGame("now", "tale", 'a "b", c', seed, 0, 3, 1.5, 1.0, "End")
        for seed in (1, 2)
    ]
    for game in games:
        scores.append(path, game)
    assert scores.read(path) == games
    with path.open(newline="") as file:
        assert [row["player"] for row in csv.DictReader(file)] == ['a "b", c'] * 2


def test_first_games_are_averaged_separately_from_later_ones(tmp_path):
    games = [("ada", 0, -10), ("bo", 0, 0), ("ada", 0, 20), ("ada", 1, 99), ("bo", 0, 10)]
    rows = [("tale", *game) for game in games]
    path = write_scores(tmp_path / "scores.csv", [*rows, ("other", "cy", 0, 5)])
    assert scores.averages(scores.read(path), "tale") == {
        "players": 2,
        "novice_games": 2,
        "novice": -5.0,
        "experienced_games": 2,
        "experienced": 15.0,
    }
