"""The server of the page: access, rejected requests, uploaded stories and play."""

import pytest

from tests.page_client import PORT, client_of, start_game, take, upload
from tests.stories import FORK, REWARDS
from textgames.scores import read, scores_file
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
        answer = client.post("/api/games/long-watch/pages", json={}, headers=headers)
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
        assert client.post("/api/games/long-watch/pages", headers=foreign).status_code == 403


# --- refused requests


JSON = "application/json"
MALFORMED = [
    *((body, JSON, 400) for body in (b"{", b"[]", b'"text"', b"\xff\xfe", b"[" * 60_000)),
    (b"{}", "text/plain", 415),
    (b'{"session": 7}', JSON, 400),
    *((b'{"seed": %s}' % seed, JSON, 400) for seed in (b"-1", b"1e99", b"true")),
    *((b'{"moves": %s}' % moves, JSON, 400) for moves in (b"3", b"[true]", b"[9]", b"[-1]")),
    *((b'{"moves": [%s]}' % move, JSON, 400) for move in (b'{"$x": 1}', b'{"$x": []}', b"1.0")),
    (b'{"moves": [%s0]}' % (b"0," * 2000), JSON, 400),
    (b"x" * (Limits.json_bytes + 1), JSON, 413),
]


def test_a_malformed_request_is_rejected_with_a_sentence(client):
    address = "/api/games/long-watch/pages"
    for body, kind, status in MALFORMED:
        answer = client.post(address, content=body, headers={"content-type": kind})
        assert (answer.status_code, answer.json()["error"][-1] in ".?") == (status, True), body[:60]
    chunks = (b"x" * 10_000 for _ in range(20))  # without a length
    answer = client.post(address, content=chunks, headers={"content-type": JSON})
    assert answer.status_code == 413


PATHS = """
/static/../__init__.py /static/%2e%2e/__init__.py /static/..%2f..%2fsettings.py /static//etc/passwd
/static/%00 /api/games/..%2f..%2f..%2fetc%2fpasswd /api/runs/../after/0 /api/runs/.serve/after/0
/api/runs/%2e%2e%2f%2e%2e/after/0 /api/tests/%2e%2e/report.html /api/games/%00/opening
/api/tests/..%2fscores /etc/passwd
"""


def test_no_path_reaches_the_file_system(client):
    for path in PATHS.split():
        answer = client.get(path)
        assert answer.status_code in (400, 404) and "root:" not in answer.text, path
    for answer in (client.put("/api/games"), client.delete("/api/scores")):
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


def test_an_uploaded_story_survives_a_restart_and_large_uploads_are_rejected(
    client, fork_id, tmp_path
):
    again = upload(client, "fork.twee", FORK, ("fork.toml", 'story = "fork.twee"\n' + REWARDS))
    assert again.json()["game"]["id"] == fork_id
    with client_of(tmp_path, limits=Limits(upload_bytes=1000, form_bytes=500)) as other:
        assert fork_id in [game["id"] for game in other.get("/api/games").json()["games"]]
        assert upload(other, "large.twee", FORK + "x" * 5000).status_code == 413


def test_markup_and_escape_codes_are_sent_as_plain_text(client):
    game = upload(client, "nasty.twee", NASTY).json()["game"]["id"]
    page = start_game(client, game)
    assert "\x1b" not in page["text"] and "\x07" not in page["text"]
    assert "Red" in page["text"]
    answer = client.post(f"/api/games/{game}/pages")
    assert answer.headers["content-type"] == "application/json"  # not shown as a page
    assert client.delete(f"/api/games/{game}").status_code == 200
    assert client.post(f"/api/games/{game}/pages").status_code == 404
    assert client.delete("/api/games/long-watch").status_code == 409  # it is built in


# --- play


def test_a_game_is_played_and_the_score_of_a_person_recorded(client, fork_id):
    page = take(client, start_game(client, fork_id), "Go out.")
    assert (page["reward"], page["ended"]) == (-0.1, False)
    address = f"/api/games/{fork_id}/scores"
    assert client.post(address, json={**page["place"], "player": "Ann"}).status_code == 409
    page = take(client, page, "Row on.")
    assert (page["ended"], page["ending"], page["reward"]) == (True, "Island", 10.0)
    assert page["total"] == pytest.approx(9.9)
    assert client.post(address, json=page["place"]).status_code == 409  # without a name
    for undone in (0, 1):
        score = {**page["place"], "player": "Ann", "undone": undone}
        assert client.post(address, json=score).status_code == 201
    rows = [(row.player, row.game, row.final_reward, row.undone) for row in read(scores_file())]
    assert rows == [("Ann", fork_id, 10.0, 0), ("Ann", fork_id, 10.0, 1)]
    people = client.get(f"/api/scores?game={fork_id}").json()
    assert (people["games"][0]["novice"], people["games"][0]["game"]) == (10.0, fork_id)
    pages = client.post(f"/api/games/{fork_id}/pages", json={**page["place"], "since": 0}).json()
    assert [each["text"] for each in pages["pages"]][:2] == [
        "The sea is grey and the wind is north.",
        "You are out on the water.",
    ]
    back = start_game(client, fork_id, moves=[0])  # undone
    assert (back["text"], back["total"]) == ("You are out on the water.", -0.1)


def test_a_path_is_followed_by_choices_in_the_authors_order(client, fork_id):
    address = f"/api/games/{fork_id}/path"
    path = {"actions": ["Go out."], "comes_to": "You are out on the water."}
    place = client.post(address, json={"path": path}).json()
    page = start_game(client, fork_id, **place)
    assert (page["passage"], page["actions"]) == ("Grey", ["Row on.", "Turn back."])
    wrong = {"actions": ["Fly."], "comes_to": ""}
    answer = client.post(address, json={"path": wrong})
    assert answer.status_code == 400 and "Fly." in answer.json()["error"]
    for bad in ("Go out.", {}, {"actions": 3, "comes_to": ""}):
        assert client.post(address, json={"path": bad}).status_code == 400


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
    page = start_game(client, game, moves=[0, {"$gold": 9}])
    assert (page["variables"], page["actions"]) == ({"$gold": 9}, ["Pay it."])
    assert take(client, page, "Pay it.")["ending"] == "Town"
    answer = client.post(f"/api/games/{game}/pages", json={"moves": [0, {"$silver": 1}]})
    assert answer.status_code == 400


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
    assert answer.status_code == 400 and answer.json()["error"].startswith("purse.toml")
    assert client.get(address).json()["text"] == text  # as before
    assert client.post("/api/games/long-watch/rules", json={"text": text}).status_code == 409


def test_episodes_are_independent_and_survive_the_process_of_the_game(client, fork_id):
    one = take(client, start_game(client, fork_id), "Go out.")
    other = take(client, start_game(client, fork_id, seed=2), "Stay in.")
    process = client.services.game_process(client.services.library[fork_id])
    process._service.process.kill()
    process._service.process.wait()
    assert take(client, one, "Row on.")["ending"] == "Island" and other["ending"] == "Home"
