"""Addresses, hosts and methods that no page of the dashboard has asked for."""

from urllib.parse import quote

from starlette.testclient import TestClient

from evonorm.dashboard.server import create_app
from tests.attack.frame import Attack, SilentError
from tests.attack.languages import mutated
from tests.report.synthetic_run import write_run

ADDRESSES = [
    "/",
    "/live?known=a",
    "/runs/night",
    "/runs/night/live?known=a,b",
    "/runs/night/candidates/3",
    "/compare?a=night&b=night",
]
ADDRESSES += ["/runs/night/candidates?kind=scores&start=0", "/runs/night/figures/funnel.svg", "/static/style.css"]
WORDS = [
    "..",
    "/",
    "%2e%2e%2f",
    "%00",
    "\\",
    "?",
    "&",
    "=",
    "-1",
    "9" * 30,
    "night",
    "kind",
    "é",
    "%",
    "\x1b",
    "secret.txt",
]
HOSTS = [
    "localhost",
    "127.0.0.1:8765",
    "[::1]:8765",
    "evil.example",
    "localhost.evil.example",
    "",
    "[",
    "[::1",
    "]:",
    ":",
]
METHODS = ["GET"] * 6 + ["POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"]


def pages(place):
    write_run(place / "runs", "night", 60, scored_share=0.4)
    (place / "secret.txt").write_text("a secret")
    before = (place / "runs" / "night" / "journal.sqlite").read_bytes()
    client = TestClient(create_app(place / "runs"), base_url="http://localhost").__enter__()

    def attempt(rng):
        address = mutated(rng.choice(ADDRESSES), rng, WORDS, 2) if rng.random() < 0.9 else rng.choice(ADDRESSES)
        address = "/" + quote(address.lstrip("/"), safe="/?&=%.,")
        host, method = rng.choice(["localhost", rng.choice(HOSTS)]), rng.choice(METHODS)
        answer = client.request(method, address, headers={"host": host}, follow_redirects=False)
        if "a secret" in answer.text or (place / "runs" / "night" / "journal.sqlite").read_bytes() != before:
            raise SilentError(f"{method} {address} reached what it must not")
        if "evil" in host and answer.status_code == 200:
            raise SilentError(f"answered to {host}")
        if answer.status_code >= 500:
            raise SilentError(f"{method} {address}: {answer.status_code}")
        return "answered" if answer.status_code < 400 else "turned away"

    return attempt


PAGES = [Attack("pages", pages, 1.0)]
