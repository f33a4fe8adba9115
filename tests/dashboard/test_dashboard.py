import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import evonorm
from evonorm.journal import Journal, KeptResults, Reader, Scores, family, find_run

pytest.importorskip("starlette", reason="the dashboard needs the extra 'report'")
import uvicorn
from starlette.testclient import TestClient

from evonorm.dashboard.impatient import ImpatientProtocol
from evonorm.dashboard.server import create_app, open_socket
from evonorm.report.run_page import HEADINGS
from tests.report.kept_training import answer, keep, question
from tests.report.synthetic_run import add_candidates, scores, write_run
from tests.report.test_html_report import check_escaped, write_nasty_run


@pytest.fixture
def runs(tmp_path):
    write_run(tmp_path / "runs", "night", 60, scored_share=0.4)
    write_run(tmp_path / "runs", "empty", 0)
    (tmp_path / "secret.txt").write_text("secret")
    return tmp_path / "runs"


@pytest.fixture
def client(runs):
    with TestClient(create_app(runs), base_url="http://localhost") as client:
        yield client


def test_all_runs_are_listed(client):
    text = client.get("/").text
    assert 'href="/runs/night"' in text
    assert 'href="/runs/empty"' in text


def let_some_seconds_pass(client):
    front = client.app.state.pages.front
    for each in (front, *front.open_trainings.values()):
        each.rendered = 0.0


def test_the_first_page_is_live(client, runs):
    page = client.get("/")
    assert "None yet" in page.text
    known = [attributes["data-digest"] for _, attributes in check_escaped(page.text) if "data-digest" in attributes]
    assert len(known) == 2
    write_run(runs, "day", 20)
    keep(runs / "train", (question("bn-relu"), answer((0.1, 0.3))))
    KeptResults(runs / "train").note_progress(
        question("bn-relu", 1), {**answer((0.1,)), "ending": "under_way", "steps": 3}
    )
    asked = f"/live?known={','.join(known)}"
    assert client.get(asked).json()["sections"] == {}  # no sooner than is cheap
    let_some_seconds_pass(client)
    news = client.get(asked).json()
    assert 0 < news["wait"] < 10
    assert 'href="/runs/day"' in news["sections"]["searches"]["html"]
    assert "under way at step 3" in news["sections"]["trainings"]["html"]
    let_some_seconds_pass(client)
    known = ",".join(section["digest"] for section in news["sections"].values())
    assert client.get(f"/live?known={known}").json()["sections"] == {}


def test_trainings_are_shown_live(client, runs):
    keep(runs / "train", (question("bn-relu"), answer((0.1, 0.3))))
    assert 'href="/trainings/train"' in client.get("/").text
    page = client.get("/trainings/train")
    assert page.status_code == 200
    tags = check_escaped(page.text)
    known = [attributes["data-digest"] for _, attributes in tags if "data-digest" in attributes]
    assert len(known) == 1
    assert client.get(f"/trainings/train/live?known={known[0]}").json()["sections"] == {}
    kept = KeptResults(runs / "train")
    kept.note_progress(question("bn-relu", 1), {**answer((0.1,)), "ending": "under_way", "steps": 3})
    let_some_seconds_pass(client)
    (news,) = client.get(f"/trainings/train/live?known={known[0]}").json()["sections"].values()
    assert "seed 1: under way at step 3" in news["html"]
    for name in ("night", "nothing", "%2e%2e%2fsecret.txt"):
        assert client.get(f"/trainings/{name}").status_code == 404


def test_no_run_at_all(tmp_path):
    with TestClient(create_app(tmp_path / "runs"), base_url="http://localhost") as client:
        assert "There is no run" in client.get("/").text


@pytest.mark.parametrize("name", ["night", "empty"])
def test_a_run_has_its_page(client, name):
    answer = client.get(f"/runs/{name}")
    assert answer.status_code == 200
    tags = check_escaped(answer.text)
    assert set(HEADINGS) <= {attributes.get("id") for _, attributes in tags}
    assert "script-src 'self'" in answer.headers["content-security-policy"]


def test_every_link_leads_somewhere(client):
    seen, left = set(), ["/"]
    while left:
        address = left.pop()
        if address in seen or len(seen) > 150:
            continue
        seen.add(address)
        answer = client.get(address)
        assert answer.status_code == 200 or address.endswith("/candidates/62"), address
        if answer.headers["content-type"].startswith("text/html"):
            tags = check_escaped(answer.text)
            left += [a["href"] for tag, a in tags if tag in ("a", "link") and a.get("href", "").startswith("/")]
    assert any("/candidates/" in address for address in seen)
    assert any(address.endswith(".csv") for address in seen)


def test_the_best_average_of_a_run_is_not_that_of_a_reference(client, runs):
    """Of what the search has found; nothing, as long as it has found nothing."""
    for name, share in (("nothing-yet", 0.0), ("something", 0.5)):
        write_run(runs, name, 12, scored_share=share)
    rows = {row.split("<")[0]: row for row in client.get("/").text.split('href="/runs/')[1:]}
    with find_run(runs, "something").reader() as reader:
        found = [row.outcome.average for row in reader.candidates("arrival") if isinstance(row.outcome, Scores)][2:]
    assert f"{100 * max(found):.2f}" in next(row for name, row in rows.items() if name.startswith("something"))
    assert ">–<" in next(row for name, row in rows.items() if name.startswith("nothing-yet"))


def test_an_update_holds_what_is_new_and_nothing_else(client, runs, monkeypatch):
    monkeypatch.setattr("evonorm.dashboard.live_runs.SHORTEST_WAIT", 0.0)
    monkeypatch.setattr("evonorm.dashboard.live_runs.SHARE", 1e9)
    monkeypatch.setattr("evonorm.dashboard.live_runs.SECONDS_PER_PAGE", 0.0)
    monkeypatch.setattr("evonorm.dashboard.live_runs.CATCHING_UP", 0.0)  # a busy machine reads on in several pieces
    known = {}

    def update():
        answer = client.get("/runs/night/live", params={"known": ",".join(known.values())}).json()
        known.update({name: section["digest"] for name, section in answer["sections"].items()})
        assert answer["wait"] > 0
        return answer["sections"]

    assert set(update()) == set(HEADINGS)
    assert update() == {}
    with Journal.open(runs / "night" / "journal.sqlite") as journal:
        add_candidates(journal, 1, first=62, scored_share=0.0)  # rejected without training
    news = update()
    assert set(news) == {"summary", "funnel"}
    assert "63 candidates" in news["summary"]["html"]
    with Journal.open(runs / "night" / "journal.sqlite") as journal:
        graph = journal.connection.execute("SELECT graph FROM proposals WHERE idx = 5").fetchone()[0]
        with journal.transaction():
            journal.add_row("proposals", (graph, "random", 0, '{"seed":1,"seen":0}', 0.0), 63)
            journal.add_outcome(63, scores(0.96, np.random.default_rng(0)))
    news = update()
    assert {"progress", "top", "ledger", "frontier"} <= set(news)
    assert 'href="/runs/night/candidates/63"' in news["top"]["html"]


def test_many_pages_cost_one_rendering(client, monkeypatch):
    made = []
    from evonorm.dashboard import live_runs

    real = live_runs.run_page
    monkeypatch.setattr(live_runs, "run_page", lambda *a, **k: made.append(1) or real(*a, **k))
    for _ in range(10):
        client.get("/runs/night/live")
    assert len(made) == 1


def test_the_more_pages_look_the_less_often_each_is_told(client, monkeypatch):
    from evonorm.dashboard import live_runs

    now = [1000.0]
    monkeypatch.setattr(live_runs.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(live_runs, "SHARE", 1e9)
    waits = []
    for pages in (1, 1, 10, 10, 1, 1):
        first, *_ = [client.get("/runs/night/live").json()["wait"] for _ in range(pages)]
        waits.append(first)
        now[0] += 60
    assert waits[0] == waits[1] == pytest.approx(live_runs.SHORTEST_WAIT + 0.1)
    assert waits[3] == pytest.approx(9 * live_runs.SECONDS_PER_PAGE + 0.1)  # it learns of the others when they ask
    assert waits[5] == waits[0]


def test_a_candidate_has_its_page(client):
    listed = client.get("/runs/night/candidates?kind=scores").text
    tags = check_escaped(listed)
    address = next(a["href"] for tag, a in tags if tag == "a" and "/candidates/" in a.get("href", ""))
    text = client.get(address).text
    check_escaped(text)
    for words in (
        'class="evonorm-graph"',
        "<math",
        "Validation accuracy",
        "Training loss",
        "create_layer(",
        "Ancestry",
    ):
        assert words in text
    assert "nn.Module" in text


@pytest.mark.parametrize("kind", ["all", "scores", "rejected", "failed", "pending"])
def test_candidates_are_listed_in_pages(client, kind):
    answer = client.get(f"/runs/night/candidates?kind={kind}&start=0")
    assert answer.status_code == 200
    check_escaped(answer.text)


@pytest.mark.parametrize("start", ["-1", "x", "9" * 30, "1e9", "²"])
def test_a_strange_start_is_the_beginning(client, start):
    assert client.get("/runs/night/candidates", params={"kind": "all", "start": start}).text.count("/candidates/0") == 1


def test_two_runs_side_by_side(client, runs):
    write_run(runs, "other", 60, seed=3, scored_share=0.4, method="random")
    text = client.get("/compare?a=night&b=other").text
    check_escaped(text)
    assert "random search" in text
    assert text.count("<svg") >= 7
    assert client.get("/compare?a=night").status_code == 200
    assert client.get("/compare?a=night&b=empty").status_code == 200
    assert client.get("/compare").status_code == 404
    assert client.get("/compare?a=night&b=../night").status_code == 404


@pytest.mark.parametrize(
    "address",
    [
        "/runs/nope",
        "/runs/%2e%2e",
        "/runs/..%2f..%2fsecret.txt",
        "/runs/%2e%2e%2fsecret.txt",
        "/runs/..%5c..%5csecret.txt",
        "/runs/night%2f..%2fnight",
        "/runs/%00",
        "/runs/night/figures/..%2f..%2f..%2fsecret.txt",
        "/runs/night/figures/funnel.py",
        "/runs/night/figures/nope.svg",
        "/runs/night/candidates/99999999999999999999",
        "/runs/night/candidates/4000",
        "/runs/night/candidates/-1",
        "/runs/night/candidates?kind=<script>",
        "/static/..%2ftemplates.py",
        "/static/run.html",
        "/runs/.hidden",
    ],
)
def test_addresses_cannot_leave_the_runs(client, runs, address):
    shutil.copytree(runs / "night", runs / ".hidden")
    answer = client.get(address)
    assert answer.status_code == 404
    assert "secret" not in answer.text.replace("secret.txt", "")
    assert "<script>" not in answer.text


def test_nothing_in_a_journal_becomes_a_script(client, runs):
    write_nasty_run(runs)
    for address in ("/", "/runs/nasty", "/compare?a=nasty&b=night", *(f"/runs/nasty/candidates/{n}" for n in range(4)),
                    *(f"/runs/nasty/candidates?kind={kind}" for kind in ("all", "rejected", "failed"))):  # fmt: skip
        answer = client.get(address)
        assert answer.status_code == 200, address
        check_escaped(answer.text)
    for section in client.get("/runs/nasty/live").json()["sections"].values():
        check_escaped(section["html"])


def test_a_run_of_a_newer_schema_is_a_message(client, runs):
    with Journal.open(runs / "night" / "journal.sqlite") as journal:
        journal.connection.execute("PRAGMA user_version = 99")
    assert "newer evonorm" in client.get("/").text
    answer = client.get("/runs/night")
    assert answer.status_code == 500
    assert "newer evonorm" in answer.text


def test_a_run_that_was_begun_anew_under_its_name(client, runs):
    assert "62 candidates" in client.get("/runs/night").text
    shutil.rmtree(runs / "night")
    assert client.get("/runs/night").status_code == 404
    write_run(runs, "night", 7)
    assert "9 candidates" in client.get("/runs/night").text


def test_other_host_names_are_refused(client):
    assert client.get("/", headers={"host": "evil.example"}).status_code == 400
    assert client.get("/", headers={"host": "localhost:8765"}).status_code == 200


@pytest.mark.parametrize("host", ["[::1]", "[::1]:8765", "localhost:8765", "127.0.0.1", "LOCALHOST"])
def test_this_machine_has_several_names(client, host):
    assert client.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["[::1", "[::2]:80", "::1", "", "localhost.evil.example", "evil:localhost", "[localhost"]
)
def test_others_are_refused_with_words(client, host):
    answer = client.get("/", headers={"host": host})
    assert answer.status_code == (200 if host in ("[::1", "[localhost") else 400)
    assert "content-security-policy" in answer.headers


def test_a_row_that_is_no_outcome_is_a_message(client, runs):
    """Sealed like any other, so that only its content is wrong: made by hand, or by something that is not evonorm."""
    with Journal.open(runs / "night" / "journal.sqlite") as journal, journal.transaction():
        index = journal._links["proposals"][0] + 1
        journal.add_row("proposals", ("add:0,0", "random", 0, '{"seed":0,"seen":0}', 0.0), index)
        journal.add_row("outcomes", (index, "failed", None, None, None, 0, 0.0, '{"strange":1}', 0.0))
    answer = client.get(f"/runs/night/candidates/{index}")
    assert answer.status_code == 500
    assert f"candidate {index}: not what an evonorm writes" in answer.text


def test_a_damaged_run_is_a_message_and_the_list_goes_on(client, runs):
    path = runs / "night" / "journal.sqlite"
    path.write_bytes(path.read_bytes().replace(b'"steps":', b'"stepz":', 1))
    assert "is damaged" in client.get("/runs/night").text
    assert client.get("/").status_code == 200


def test_who_does_not_end_a_request_is_not_waited_for(served_impatiently):
    port = served_impatiently
    half = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
    for number, each in enumerate(half):
        each.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" if number % 2 else b"")
    assert urllib.request.urlopen(f"http://127.0.0.1:{port}/").status == 200
    for each in half:
        each.settimeout(30)
        while each.recv(1000):
            pass
        each.close()
    assert urllib.request.urlopen(f"http://127.0.0.1:{port}/").status == 200


@pytest.fixture
def served_impatiently(runs, monkeypatch):
    monkeypatch.setattr("evonorm.dashboard.impatient.SECONDS", 0.3)
    place = open_socket("127.0.0.1", 0)
    config = uvicorn.Config(create_app(runs), log_level="warning", http=ImpatientProtocol)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
    thread.start()
    yield place.getsockname()[1]
    server.should_exit = True
    thread.join()


def test_a_port_in_use_is_a_clear_error():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ValueError, match=r"cannot listen on 127\.0\.0\.1 port \d+ .*--port"):
            open_socket("127.0.0.1", taken.getsockname()[1])


@pytest.mark.parametrize("port", [-1, 65536, 99999])
def test_a_port_that_is_none_is_not_another_one(port):
    with pytest.raises(ValueError, match=f"from 0 to 65535, got {port}"):
        open_socket("127.0.0.1", port)


@pytest.fixture
def served(runs):
    """The real command in its own process, on a port of its choice."""
    command = [sys.executable, "-c", "from evonorm.cli import main; main()", "dashboard", "night", "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [*command, "--runs", str(runs)], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield process.stdout.readline().split(" at ")[1].split(" ")[0].removesuffix("/runs/night")
        process.terminate()


def get(address):
    for _ in range(50):
        try:
            with urllib.request.urlopen(address, timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.URLError as error:
            if isinstance(error, urllib.error.HTTPError):
                raise
            time.sleep(0.2)
    raise AssertionError(f"{address} does not answer")


def test_the_command_serves_localhost_only(served):
    status, text = get(f"{served}/runs/night")
    assert status == 200
    assert "Run night" in text
    assert json.loads(get(f"{served}/runs/night/live")[1])["sections"]
    port = int(served.rpartition(":")[2])
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if line.split()[3] == "0A"]
    assert [place.split(":")[0] for place in listening if int(place.split(":")[1], 16) == port] == ["0100007F"]


def links(text):
    return [a["href"] for tag, a in check_escaped(text) if tag == "a"]


def test_a_candidate_names_its_parents_and_children(client, runs):
    records = list(evonorm.Run("night", runs).records())
    made = Counter(parent for record in records for parent in record["parents"])
    parent, number = made.most_common(1)[0]
    text = client.get(f"/runs/night/candidates/{parent}").text
    after = text.split("<h2>Children</h2>")[1]
    children = [record for record in records if parent in record["parents"]]
    assert f"{number} candidates were made from this one" in after
    assert all(f'href="/runs/night/candidates/{record["index"]}"' in after for record in children)
    scored = sorted((r for r in children if r["kind"] == "scores"), key=lambda r: -r["average"])
    shown = [int(place) for place in re.findall(r"candidates/(\d+)", after)]
    assert shown[: len(scored)] == [record["index"] for record in scored]
    for child in children:
        page = client.get(f"/runs/night/candidates/{child['index']}").text
        assert f"/runs/night/candidates/{parent}" in links(page.split("<h2>Ancestry</h2>")[1].split("<h2>")[0])
    childless = next(record["index"] for record in records if record["index"] not in made)
    assert "None so far." in client.get(f"/runs/night/candidates/{childless}").text


def test_children_and_ancestors_are_found_by_index_and_without_it(runs):
    path = runs / "night" / "journal.sqlite"
    with Reader(path) as reader:
        for question, values in ((family._CHILDREN, (5, 50)), (family._ANCESTORS, (5, 12))):
            plan = [row[3] for row in reader.connection.execute(f"EXPLAIN QUERY PLAN {question}", values)]
            assert not [step for step in plan if step.startswith("SCAN proposals")], plan
        found = [family.children(reader, index) for index in range(62)]
        assert any(found)
    with Journal.open(path) as journal:
        journal.connection.execute("DROP INDEX proposals_by_parent")  # as in a journal of before there was one
    with Reader(path) as reader:
        assert [family.children(reader, index) for index in range(62)] == found
    Journal.open(path).close()
    with Reader(path) as reader:
        assert reader.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'proposals_by_parent'").fetchall()


def test_candidates_are_sorted_and_found_by_words(client, runs):
    def numbers(query):
        text = client.get(f"/runs/night/candidates?{query}").text
        return [int(each) for each in re.findall(r"/candidates/(\d+)\">#", text)]

    up = numbers("kind=all&sort=index&up=1")
    assert up == sorted(up)
    assert numbers("kind=all&sort=index")[0] > up[-1] or numbers("kind=all&sort=index") == up[::-1]
    assert numbers("kind=all&find=%23" + str(up[3])) == [up[3]]
    assert numbers("kind=all&find=no_such_primitive") == []
    assert client.get("/runs/night/candidates?sort=body").status_code == 404
    assert "<img" not in client.get("/runs/night/candidates?find=<img src=x>").text
