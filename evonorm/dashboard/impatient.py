"""Who begins a request and does not end it is not waited for: a connection may take so long for the head of one."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 10.0


class ImpatientProtocol(H11Protocol):
    """uvicorn's own, which closes idle connections, but waits for ever for the rest of a head."""

    _hurry: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._expect_head()
        else:
            self._calm_down()

    def connection_lost(self, exc: Exception | None) -> None:
        self._calm_down()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        if self._hurry is None:
            self._hurry = self.loop.call_later(SECONDS, self.transport.close)

    def _calm_down(self) -> None:
        if self._hurry is not None:
            self._hurry.cancel()
            self._hurry = None
