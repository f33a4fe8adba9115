"""`evonorm dashboard`: the pages of all runs, live, for people at this machine.

Every answer comes from one reading thread, so that SQLite connections stay where they were opened and no page does the
work of another again.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from evonorm.dashboard.impatient import ImpatientProtocol
from evonorm.dashboard.pages import DashboardPages, message_page, static_file
from evonorm.journal import NoSuchCandidateError, NoSuchRunError
from evonorm.report import compile_all, prepare

LOCAL = ("127.0.0.1", "localhost", "::1")


class Dashboard:
    """From addresses to pages: each method takes what its page needs out of the request."""

    def __init__(self, runs: Path) -> None:
        self.pages = DashboardPages(runs)
        self.reading = ThreadPoolExecutor(max_workers=1, thread_name_prefix="journal")

    async def read(self, page: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self.reading, page, *arguments)

    async def all_runs(self, _: Request) -> Response:
        return await self.read(self.pages.all_runs)

    async def live_front(self, request: Request) -> Response:
        return await self.read(self.pages.live_front, _known(request))

    async def run(self, request: Request) -> Response:
        return await self.read(self.pages.run, request.path_params["name"])

    async def live(self, request: Request) -> Response:
        return await self.read(self.pages.live, request.path_params["name"], _known(request))

    async def trainings(self, request: Request) -> Response:
        return await self.read(self.pages.trainings, request.path_params["name"])

    async def live_trainings(self, request: Request) -> Response:
        return await self.read(self.pages.live_trainings, request.path_params["name"], _known(request))

    async def figure(self, request: Request) -> Response:
        name, _, suffix = request.path_params["figure"].rpartition(".")
        return await self.read(self.pages.figure, request.path_params["name"], name, suffix)

    async def candidate(self, request: Request) -> Response:
        return await self.read(self.pages.candidate, request.path_params["name"], request.path_params["index"])

    async def candidates(self, request: Request) -> Response:
        kind, start = request.query_params.get("kind", "scores"), request.query_params.get("start", "0")
        number = int(start) if start.isascii() and start.isdigit() and len(start) < 15 else 0
        sort, find = request.query_params.get("sort", ""), request.query_params.get("find", "")
        up = bool(request.query_params.get("up"))
        return await self.read(self.pages.candidates, request.path_params["name"], kind, number, sort, up, find)

    async def compare(self, request: Request) -> Response:
        first, second = request.query_params.get("a"), request.query_params.get("b")
        if not first:
            raise HTTPException(404, "name two runs to compare: /compare?a=first&b=second.")
        return await self.read(self.pages.compare, first, second)

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        yield
        await self.read(self.pages.open_runs.close)
        self.reading.shutdown()


def _known(request: Request) -> list[str]:
    """The digests of the sections that a live page has."""
    return request.query_params.get("known", "").split(",")


def create_app(runs: Path, hosts: tuple[str, ...] = LOCAL) -> Starlette:
    """The dashboard as an application. A request under a host name that is not among `hosts` is refused.

    Without that check a web page elsewhere could have its own name point to this machine, and read along.
    """
    compile_all()
    prepare()
    board = Dashboard(runs)
    routes = [
        Route("/", board.all_runs),
        Route("/live", board.live_front),
        Route("/runs/{name}", board.run),
        Route("/runs/{name}/live", board.live),
        Route("/runs/{name}/figures/{figure}", board.figure),
        Route("/runs/{name}/candidates", board.candidates),
        Route("/runs/{name}/candidates/{index:int}", board.candidate),
        Route("/trainings/{name}", board.trainings),
        Route("/trainings/{name}/live", board.live_trainings),
        Route("/compare", board.compare),
        Route("/static/{name}", lambda request: static_file(request.path_params["name"])),
    ]
    guard = [Middleware(KnownHosts, hosts=hosts)]
    app = Starlette(routes=routes, lifespan=board.lifespan, middleware=guard, exception_handlers=_HANDLERS)
    app.state.pages = board.pages
    return app


class KnownHosts:
    """Refuses what was not addressed to one of the hosts; "*" is any. Knows addresses in brackets, as IPv6 has them."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...]) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or "*" in self.hosts or _host(scope) in self.hosts:
            await self.app(scope, receive, send)
        else:
            words = f"this dashboard answers under {', '.join(self.hosts)} only."
            await message_page(400, "Not to this address", words)(scope, receive, send)


def _host(scope: Scope) -> str:
    address = Headers(scope=scope).get("host", "").lower()
    return address[1:].partition("]")[0] if address.startswith("[") else address.partition(":")[0]


async def _no_such_run(_: Request, error: Exception) -> Response:
    return message_page(404, "No such run", str(error))


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return message_page(error.status_code, "Not here", error.detail)


async def _journal_error(_: Request, error: Exception) -> Response:
    status = 404 if isinstance(error, NoSuchCandidateError) else 500
    return message_page(status, "This cannot be shown", str(error))


_HANDLERS: dict[Any, Any] = {NoSuchRunError: _no_such_run, HTTPException: _http_error, ValueError: _journal_error}


def open_socket(host: str, port: int) -> socket.socket:
    """A place to listen; a port in use is an error that says what to do."""
    if not 0 <= port <= 65535:  # the system would quietly take another one
        raise ValueError(f"a port is a number from 0 to 65535, got {port}.")
    place = None
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        place = socket.socket(family, kind)
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind(address)
        place.listen()  # from now on a browser waits for the server instead of being refused
    except (OSError, OverflowError) as error:
        if place is not None:
            place.close()
        cure = "Choose another with --port, or 0 for any that is free."
        if isinstance(error, socket.gaierror):
            cure = "--host takes a name or an address of this machine."
        raise ValueError(f"cannot listen on {host} port {port} ({error}). {cure}") from error
    return place


def serve(runs: Path, place: socket.socket, hosts: tuple[str, ...]) -> None:
    """Answers until Ctrl-C."""
    app = create_app(runs, hosts)
    config = uvicorn.Config(app, log_level="warning", access_log=False, http=ImpatientProtocol)
    uvicorn.Server(config).run(sockets=[place])
