"""The server of the page: access, rejected requests, uploaded stories and play."""

import os
from dataclasses import replace

import pytest

from tests.page_client import PORT, client_of, start_game, take, upload
from tests.stories import FORK, REWARDS
from textgames.scores import read, scores_file
from textgames_page import library, services
from textgames_page.http import shared_access
from textgames_page.library import uploads_folder
from textgames_page.limits import Limits

pytest.importorskip("starlette")

NASTY = """\
:: Start
\x1b[31mRed\x07 and &lt;script&gt;alert(1)&lt;/script&gt; stand on the wall.

[[Say "&lt;img src=x onerror=alert(2)&gt;".|End]]
[[Leave.|End]]

:: End
Out.
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("home")
        patch.setenv("TEXTGAMES_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module")
def client(home, tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("runs")) as client:
        yield client


@pytest.fixture(scope="module")
def fork_id(client):
    """The small story, uploaded with its TOML."""
    answer = upload(client, "fork.twee", FORK, ("fork.toml", 'story = "fork.twee"\n' + REWARDS))
    assert answer.status_code == 201, answer.text
    return answer.json()["game"]["id"]


# --- access


FOREIGN = (
    {"host": "evil.example"},  # DNS rebinding
    {"host": f"127.0.0.1.evil.example:{PORT}"},
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": "http://[bad"},
    {"origin": f"http://127.0.0.1:{PORT + 1}"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
)


def test_requests_from_other_sites_are_rejected(client):
    for headers in FOREIGN:
        answer = client.post("/api/sessions", json={"game": "long-watch"}, headers=headers)
        assert answer.status_code == 403, headers


def test_every_answer_has_security_headers(client):
    for path in ("/", "/api/games", "/nowhere", "/static/app.css"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_a_shared_page_opens_only_with_its_token(home, tmp_path):
    access = shared_access(PORT)
    with client_of(tmp_path, access, f"http://192.168.0.7:{PORT}") as client:
        for path in ("/", "/api/games", "/static/app.css", "/?token=guess", "/?token="):
            assert client.get(path).status_code == 403
        for headers in ({"cookie": f"{access.cookie}=guess"}, {"host": "x/?token=guess"}):
            assert client.get("/api/games", headers=headers).status_code == 403
        answer = client.get(f"/?token={access.token}", follow_redirects=False)
        assert answer.headers["location"] == "/"  # the token leaves the address bar
        assert "HttpOnly" in answer.headers["set-cookie"]
        assert client.get("/api/games").status_code == 200  # by the cookie
        foreign = {"origin": "http://evil.example"}
        assert client.post("/api/sessions", json={}, headers=foreign).status_code == 403


# --- refused requests


JSON = "application/json"
MALFORMED = [
    *((body, JSON, 400) for body in (b"{", b"[]", b'"text"', b"\xff\xfe", b"[" * 60_000)),
    (b"{}", JSON, 400),  # no game is named
    (b"{}", "text/plain", 415),
    (b'{"game": 7}', JSON, 400),
    (b'{"game": "long-watch", "seed": -1}', JSON, 400),
    (b'{"game": "long-watch", "seed": 1e99}', JSON, 400),
    (b'{"game": "long-watch", "seed": true}', JSON, 400),
    (b'{"game": "long-watch", "player": {"a": 1}}', JSON, 400),
    (b'{"game": "../../etc/passwd"}', JSON, 404),
    (b"x" * (Limits.json_bytes + 1), JSON, 413),
]


def test_a_malformed_request_is_rejected_with_a_sentence(client):
    for body, kind, status in MALFORMED:
        answer = client.post("/api/sessions", content=body, headers={"content-type": kind})
        assert (answer.status_code, answer.json()["error"][-1]) == (status, "."), body[:60]
    chunks = (b"x" * 10_000 for _ in range(20))  # without a length
    answer = client.post("/api/sessions", content=chunks, headers={"content-type": JSON})
    assert answer.status_code == 413


PATHS = """
/static/../__init__.py /static/%2e%2e/__init__.py /static/..%2f..%2fsettings.py /static//etc/passwd
/static/%00 /api/games/..%2f..%2f..%2fetc%2fpasswd /api/runs/../after/0 /api/runs/.serve/after/0
/api/runs/%2e%2e%2f%2e%2e/after/0 /api/tests/%2e%2e/report.html /api/sessions/%00
/api/tests/..%2fscores /etc/passwd
"""


def test_no_path_reaches_the_file_system(client):
    for path in PATHS.split():
        answer = client.get(path)
        assert answer.status_code in (400, 404) and "root:" not in answer.text, path
    for answer in (client.put("/api/games"), client.get("/api/sessions")):
        assert (answer.status_code, answer.json()) == (405, {"error": "Method Not Allowed."})


# --- uploaded stories


NO_STORIES = (
    ("story.exe", FORK, 415),
    ("story", FORK, 415),
    ("alone.toml", REWARDS, 400),
    ("empty.twee", "", 400),
    ("page.html", "<p>no story</p>", 400),
    ("broken.json", "{", 400),
)


def test_a_file_that_is_not_a_story_is_rejected_with_a_sentence(client):
    for name, text, status in NO_STORIES:
        answer = upload(client, name, text)
        assert answer.status_code == status, name
        assert str(uploads_folder()) not in answer.json()["error"]
        assert not list(uploads_folder().glob(".new-*"))


def test_an_uploaded_toml_cannot_name_files_outside_its_folder(client, tmp_path):
    (tmp_path / "other.twee").write_text(FORK, encoding="utf-8")
    elsewhere = f'story = "{tmp_path / "other.twee"}"'
    for toml in (elsewhere, 'story = "../../scores.csv"', 'suite = "jericho"\ngame = "/x"'):
        answer = upload(client, "in.twee", FORK.replace("grey", "green"), ("in.toml", toml))
        assert answer.status_code == 400, answer.text


def test_the_name_of_an_uploaded_file_stays_in_its_folder():
    names = ("../../../evil.twee", "..\\..\\evil.twee", "/etc/evil.twee", ".\x00evil.twee")
    for safe in map(library.safe_name, names):
        assert safe.endswith("evil.twee") and not safe.startswith(".")
        assert not {"/", "\\", "\0"} & set(safe)
    assert library.safe_name("../about.json") == "story-about.json"  # our own file


def test_an_uploaded_story_survives_a_restart_and_large_uploads_are_rejected(
    client, fork_id, tmp_path
):
    again = upload(client, "fork.twee", FORK, ("fork.toml", 'story = "fork.twee"\n' + REWARDS))
    assert (again.status_code, again.json()["game"]["id"]) == (200, fork_id)
    with client_of(tmp_path, limits=Limits(upload_bytes=1000, form_bytes=500)) as other:
        assert fork_id in [game["id"] for game in other.get("/api/games").json()["games"]]
        assert upload(other, "large.twee", FORK + "x" * 5000).status_code == 413


def test_markup_and_escape_codes_are_sent_as_plain_text(client):
    game = upload(client, "nasty.twee", NASTY).json()["game"]["id"]
    page = start_game(client, game)
    assert "\x1b" not in page["text"] and "\x07" not in page["text"]
    assert "Red" in page["text"]
    answer = client.get(f"/api/sessions/{page['session']}")
    assert answer.headers["content-type"] == "application/json"  # not shown as a page
    assert client.delete(f"/api/games/{game}").status_code == 200
    assert client.get(f"/api/sessions/{page['session']}").status_code == 404
    assert client.delete("/api/games/long-watch").status_code == 409  # it is built in


# --- play


def test_a_game_is_played_undone_and_restarted(client, fork_id):
    page = start_game(client, fork_id, player="Ann")
    page = take(client, page, "Go out.")
    assert (page["steps"], page["reward"], page["ended"]) == (1, -0.1, False)
    page = take(client, page, "Row on.")
    assert page["ended"] and page["recorded"]
    assert (page["ending"], page["reward"], page["total"]) == ("Island", 10.0, 9.9)
    assert [(row.player, row.game, row.final_reward) for row in read(scores_file())] == [
        ("Ann", fork_id, 10.0)
    ]
    people = client.get(f"/api/scores?game={fork_id}").json()
    assert (people["games"][0]["novice"], people["games"][0]["game"]) == (10.0, fork_id)
    back = client.post(f"/api/sessions/{page['session']}/undo").json()
    assert (back["steps"], back["undone"], back["text"]) == (1, 1, "You are out on the water.")
    assert [(past["text"], past["actions"][past["choice"]]) for past in back["history"]] == [
        ("The sea is grey and the wind is north.", "Go out.")
    ]
    again = client.post(f"/api/sessions/{page['session']}/restart").json()
    assert (again["seed"], again["steps"], again["history"], again["undone"]) == (2, 0, [], 0)
    assert client.post(f"/api/sessions/{page['session']}/undo").status_code == 409


def test_a_game_starts_where_a_path_leads_with_choices_in_the_authors_order(client, fork_id):
    path = {"actions": ["Go out."], "comes_to": "You are out on the water."}
    page = start_game(client, fork_id, player="Ann", path=path)
    assert (page["passage"], page["steps"]) == ("Grey", 1)
    assert page["actions"] == ["Row on.", "Turn back."]  # as they are written
    assert [past["by"] for past in page["history"]] == ["path"]
    page = take(client, page, "Row on.")
    assert page["ended"] and not page["recorded"]  # it started in the middle
    wrong = {"game": fork_id, "path": {"actions": ["Fly."], "comes_to": ""}}
    answer = client.post("/api/sessions", json=wrong)
    assert answer.status_code == 400 and "Fly." in answer.json()["error"]
    for bad in ("Go out.", {}, {"actions": 3, "comes_to": ""}):
        answer = client.post("/api/sessions", json={"game": fork_id, "path": bad})
        assert answer.status_code == 400


PURSE = """:: Start
<<set $gold = 3>>A road.
[[Go on.|Toll]]

:: Toll
The toll is 5. <<if $gold gte 5>>[[Pay it.|Town]]<<else>>[[Turn back.|Home]]<<endif>>

:: Town
You are in.

:: Home
You are home.
"""


def test_a_variable_is_given_another_value(client):
    game = upload(client, "purse.twee", PURSE).json()["game"]["id"]
    page = take(client, start_game(client, game), "Go on.")
    assert (page["variables"], page["actions"]) == ({"$gold": 3}, ["Turn back."])
    address = f"/api/sessions/{page['session']}"
    page = client.post(f"{address}/variables", json={"values": {"$gold": 9}}).json()
    assert (page["variables"], page["actions"]) == ({"$gold": 9}, ["Pay it."])
    assert take(client, page, "Pay it.")["ending"] == "Town"
    for actions in (["Pay it."], ["Turn back."]):
        page = client.post(f"{address}/undo").json()
        assert (page["passage"], page["actions"]) == ("Toll", actions)
    for values in ({"$silver": 1}, {"$gold": [1]}, 3):
        answer = client.post(f"{address}/variables", json={"values": values})
        assert answer.status_code in (400, 409)


def test_the_toml_of_a_story_is_written_unless_it_is_wrong(client):
    game = upload(client, "purse.twee", PURSE).json()["game"]["id"]
    address = f"/api/games/{game}/rules"
    assert client.get(address).json() == {"file": "purse.toml", "text": None, "story": "purse.twee"}
    text = 'story = "purse.twee"\n[[ending]]\npassage = "Home"\nreward = 8\n'
    assert client.post(address, json={"text": text}).status_code == 200
    page = take(client, start_game(client, game), "Go on.")
    assert take(client, page, "Turn back.")["reward"] == 8
    wrong = f'{text}[[expect]]\nreachable = "Nowhere"\n'
    answer = client.post(address, json={"text": wrong})
    assert answer.status_code == 400 and "Nowhere" in answer.json()["error"]
    assert client.get(address).json()["text"] == text  # as before
    assert client.post("/api/games/long-watch/rules", json={"text": text}).status_code == 409


def test_a_test_of_a_changed_file_is_stale(tmp_path):
    story = tmp_path / "purse.twee"
    story.write_text(PURSE)
    (entry,) = library.given_entries([str(story)])
    test = services.PlayTest(entry)
    assert not test.stale
    os.utime(story, (test.when + 5, test.when + 5))
    assert test.stale


def test_a_choice_made_on_an_earlier_page_is_rejected(client, fork_id):
    page = start_game(client, fork_id)
    take(client, page, "Go out.")
    path = f"/api/sessions/{page['session']}/step"
    twice = client.post(path, json={"action": 0, "steps": 0})  # a double click
    assert twice.status_code == 409
    assert client.get(f"/api/sessions/{page['session']}").json()["steps"] == 1
    for action in (-1, 2, "0", None, 0.5, True):
        assert client.post(path, json={"action": action}).status_code == 400


def test_two_sessions_are_independent(client, fork_id):
    one = start_game(client, fork_id)
    other = start_game(client, fork_id)
    one = take(client, one, "Go out.")
    other = take(client, other, "Stay in.")
    one = take(client, one, "Row on.")
    assert (one["ending"], other["ending"]) == ("Island", "Home")


def test_a_game_continues_after_its_process_was_killed(client, fork_id):
    page = take(client, start_game(client, fork_id), "Go out.")
    process = client.services.game_process(client.services.library[fork_id])
    process._service.process.kill()
    process._service.process.wait()
    assert take(client, page, "Row on.")["ending"] == "Island"


def test_the_number_of_sessions_is_limited(client, fork_id, monkeypatch):
    sessions = client.services.sessions
    limits = Limits(sessions=len(sessions.by_id) + 1)
    monkeypatch.setattr(sessions, "limits", limits)
    page = start_game(client, fork_id)
    assert client.post("/api/sessions", json={"game": fork_id}).status_code == 429
    monkeypatch.setattr(sessions, "limits", replace(limits, full_idle_seconds=-1))
    assert client.post("/api/sessions", json={"game": fork_id}).status_code == 201
    assert client.get(f"/api/sessions/{page['session']}").status_code == 404


def test_a_long_game_has_only_its_last_pages_as_history(client, fork_id, monkeypatch):
    monkeypatch.setattr(client.services, "limits", Limits(history=150))
    page = start_game(client, fork_id)
    for _ in range(3):
        page = take(client, take(client, page, "Go out."), "Turn back.")
    history = client.get(f"/api/sessions/{page['session']}").json()["history"]
    assert 0 < len(history) < 6
