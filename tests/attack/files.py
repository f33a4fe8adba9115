"""Files that come from a disk or from somebody: journals, exports, archives of CIFAR-10, checkpoints."""

import contextlib
import hashlib
import io
import json
import lzma
import shutil
import sqlite3
import tarfile
from pathlib import Path

import torch
from rich.console import Console

from evonorm.cli.candidate_page import candidate_page
from evonorm.cli.leaderboard import leaderboard_text
from evonorm.cli.run_status import run_status
from evonorm.data import load_data
from evonorm.data.cifar10_sources import read_cifar10
from evonorm.journal import (
    Journal,
    NoSuchCandidateError,
    RunFolder,
    export_journal,
    import_journal,
    journal_digest,
    leaderboard,
)
from evonorm.journal.chain import TABLES, read_rows
from evonorm.journal.schema import files_of
from evonorm.journal.transfer import MAGIC, unpack
from evonorm.report.run_page import run_page
from evonorm.report.tally import Tally
from evonorm.training import load_checkpoint, save_checkpoint
from tests.attack.frame import Attack, SilentError
from tests.data.test_cifar10_sources import EXPECTED, write_binary
from tests.journal.test_damage import killed_writer
from tests.runner.test_run_search import search
from tests.training import small_run
from tests.training.test_run import weights

PAGE = 4096
STATEMENTS = [
    "DELETE FROM outcomes WHERE arrival = (SELECT max(arrival) - {n} FROM outcomes)",
    "DELETE FROM proposals WHERE idx = {n}",
    "UPDATE outcomes SET average = 0.99 WHERE arrival = {n}",
    "UPDATE outcomes SET body = replace(body, '1', '2') WHERE arrival = {n}",
    "UPDATE proposals SET time = time + 1 WHERE idx = {n}",
    "UPDATE header SET value = replace(value, '0', '1')",
    "UPDATE events SET kind = 'session ended' WHERE id = 1",
    "DELETE FROM events",
    "CREATE VIEW v AS SELECT * FROM outcomes",
    "CREATE TRIGGER t AFTER INSERT ON outcomes BEGIN DELETE FROM proposals; END",
    "DROP TABLE events",
    "PRAGMA user_version = {n}",
    "PRAGMA application_id = {n}",
]


def damaged(content, rng):
    """Bytes with one kind of damage: a bit, a digit, a stretch of noise, a page of zeros, an end that is missing."""
    content = bytearray(content)
    kind = rng.randrange(5)
    place = rng.randrange(len(content))
    if kind == 0:
        content[place] ^= 1 << rng.randrange(8)
    elif kind == 1:
        digits = [at for at in range(place, min(place + 2000, len(content))) if 48 <= content[at] < 58] or [place]
        at = rng.choice(digits)
        content[at] = rng.choice([each for each in range(48, 58) if each != content[at]])
    elif kind == 2:
        content[place : place + 16] = rng.randbytes(16)
    elif kind == 3:
        start = place // PAGE * PAGE
        content[start : start + PAGE] = bytes(len(content[start : start + PAGE]))
    else:
        del content[place:]
    return bytes(content)


def said_of(path):
    """What a person is told of a run: its digest, and what `top` and `status` count."""
    folder = RunFolder(path.parent.parent, path.parent.name)
    with folder.checked_reader() as reader:
        top = leaderboard_text(leaderboard(reader, 5), reader.references()).plain
        return journal_digest(path), top, reader.verdicts(), reader.cost()


def journals(place):
    """At rest, and as a killed driver leaves it with most of it in the write-ahead log."""
    search(place / "runs", "rested", candidates=40)
    (place / "runs" / "killed").mkdir()
    killed_writer(place / "runs" / "killed" / "journal.sqlite")
    originals = {}
    for name in ("rested", "killed"):
        path = place / "runs" / name / "journal.sqlite"
        said = said_of(path)
        originals[name] = said, {each.name: each.read_bytes() for each in files_of(path) if each.exists()}

    def attempt(rng):
        name = rng.choice(["rested", "rested", "killed"])
        said, files = originals[name]
        folder = place / "tried" / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file, content in files.items():
            (folder / file).write_bytes(content)
        path = folder / "journal.sqlite"
        _damage(path, rng)
        if rng.random() < 0.1:
            Journal.open(path).close()
        found = said_of(path)
        if found != said:
            raise SilentError(f"{name} says something else")
        return "unchanged"

    return attempt


def _damage(path, rng):
    kind = rng.randrange(10)
    log = Path(f"{path}-wal")
    if kind < 6:
        path.write_bytes(damaged(path.read_bytes(), rng))
    elif kind == 6:
        with contextlib.suppress(sqlite3.Error):
            connection = sqlite3.connect(path, isolation_level=None)
            connection.execute(rng.choice(STATEMENTS).format(n=rng.randint(0, 40)))
        connection.close()
    elif kind == 7 and log.exists() and log.stat().st_size:
        Path(f"{path}-shm").unlink(missing_ok=True)
        log.write_bytes(damaged(log.read_bytes(), rng))
    elif kind == 8:
        for each in rng.sample(files_of(path)[1:], rng.randint(1, 2)):
            each.unlink(missing_ok=True)
    else:
        rows = Path(f"{path}-rows")
        rows.write_bytes(damaged(rows.read_bytes(), rng))


def forged(place):
    """Rows that are sealed as they should be, and that no evonorm would write."""
    folder, _ = search(place / "runs", "good", candidates=12)
    with folder.reader() as reader:
        header = reader.header()
    connection = sqlite3.connect(folder.journal)
    rows = {table: [row.values for row in read_rows(connection, table)] for table in TABLES}
    connection.close()

    def attempt(rng):
        made = RunFolder(place / "forged", "run")
        shutil.rmtree(made.path, ignore_errors=True)
        made.path.mkdir(parents=True)
        head = {**header, rng.choice([*header]): rng.choice(STRANGE)} if rng.random() < 0.3 else header
        chosen = rng.choice([*TABLES])
        with Journal.create(made.journal, head) as journal, journal.transaction():
            for table, found in rows.items():
                odd = rng.randrange(len(found)) if table == chosen else -1
                for number, values in enumerate(found):
                    values = _strange(values, rng) if number == odd else values
                    journal.add_row(table, values[1:], values[0] if table == "proposals" else None)
        show(made, page=rng.random() < 0.2)
        return "shown"

    return attempt


STRANGE = [
    None,
    7,
    -1.5,
    "text",
    [],
    {},
    [1],
    {"a": []},
    "\x1b[2J",
    "<script>",
    10**30,
    True,
    {"name": [], "stages": 3},
]


def _strange(values, rng):
    """A row with another value, or with another value somewhere in its JSON."""
    place = rng.randrange(1, len(values))
    value = values[place]
    if isinstance(value, str) and value.startswith("{"):
        body = json.loads(value)
        where = body
        while rng.random() < 0.6 and where and isinstance(where, dict | list):
            keys = [*where] if isinstance(where, dict) else range(len(where))
            key = rng.choice([*keys])
            if not isinstance(where[key], dict | list) or not where[key] or rng.random() < 0.4:
                where[key] = rng.choice(STRANGE)
                break
            where = where[key]
        else:
            body["more"] = rng.choice(STRANGE)
        new = json.dumps(body)
    else:
        new = rng.choice([None, 7, -1, 0.5, "text", "", "x", 2**40])
    return (*values[:place], new, *values[place + 1 :])


def show(folder, page):
    """Everything that a person can look at; the page takes longest."""
    console = Console(file=io.StringIO(), width=200)
    with folder.checked_reader() as reader:
        console.print(run_status(folder, reader))
        console.print(leaderboard_text(leaderboard(reader, 5), reader.references()))
        for index in (0, 3, 8):
            with contextlib.suppress(NoSuchCandidateError):
                console.print(candidate_page(reader, reader.candidate(index)))
        tally = Tally()
        tally.refresh(reader)
        if page:
            run_page(reader, tally, folder.name).sections()
    journal_digest(folder.journal)


def exports(place):
    folder, _ = search(place / "runs", "rested", candidates=20)
    file = place / "run.evonorm"
    export_journal(folder.journal, file)
    unpack(file, place / "content.sqlite")
    content, packed, digest = (place / "content.sqlite").read_bytes(), file.read_bytes(), journal_digest(folder.journal)

    def attempt(rng):
        if rng.random() < 0.3:
            changed = damaged(packed, rng)
        else:  # with the right checksum, as somebody makes it who wants to be believed
            inside = damaged(content, rng)
            size = rng.choice([len(inside), len(inside), len(inside) - 1, 10**12])
            head = f"2\n{hashlib.sha256(inside).hexdigest()} {size}\n".encode()
            changed = MAGIC + head + lzma.compress(inside, preset=0)
        (place / "changed.evonorm").write_bytes(changed)
        target = place / "imported" / "journal.sqlite"
        shutil.rmtree(target.parent, ignore_errors=True)
        try:
            import_journal(place / "changed.evonorm", target)
        except ValueError:
            if target.parent.exists():
                raise SilentError("something is left behind") from None
            raise
        if journal_digest(target) != digest:
            raise SilentError("another run came out")
        return "unchanged"

    return attempt


def archives(place):
    whole = place / "whole"
    whole.mkdir()
    write_binary(whole)
    names = [path.name for path in whole.iterdir()]

    def attempt(rng):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
            for name in names:
                info = tarfile.TarInfo(rng.choice(["", "", "cifar/", "../", "/tmp/evonorm-attack/", "a/../../"]) + name)
                content = (whole / name).read_bytes()
                info.size = len(content)
                if rng.random() < 0.1:
                    info.type = rng.choice([tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
                    info.linkname, info.size = "/etc/passwd", 0
                archive.addfile(info, io.BytesIO(content))
        path = place / "changed.tar.gz"
        path.write_bytes(buffer.getvalue() if rng.random() < 0.4 else damaged(buffer.getvalue(), rng))
        before = sorted(place.parent.rglob("*"))
        try:
            content, _ = read_cifar10(path, lambda *_: None)
        finally:
            if sorted(place.parent.rglob("*")) != before or Path("/tmp/evonorm-attack").exists():
                raise SilentError("something was written elsewhere")
        if content != EXPECTED and hashlib.sha256(content).hexdigest() == hashlib.sha256(EXPECTED).hexdigest():
            raise SilentError("other pictures pass for the same")
        return "read"  # the caller compares the checksum of all pictures

    return attempt


def checkpoints(place):
    data = load_data("digits")
    run = small_run(data)
    run.advance(3)
    path = place / "checkpoint.pt"
    save_checkpoint(run, path)
    content = path.read_bytes()

    def attempt(rng):
        path.write_bytes(damaged(content, rng))
        loaded = small_run(data)
        load_checkpoint(loaded, path)
        if loaded.losses != run.losses or not torch.equal(weights(loaded), weights(run)):
            raise SilentError("other weights")
        return "unchanged"

    return attempt


FILES = [
    Attack("journals", journals, 4.0),
    Attack("forged journals", forged, 2.0),
    Attack("exports", exports, 1.5),
    Attack("archives", archives, 0.7),
    Attack("checkpoints", checkpoints, 0.7),
]
