"""What a reader would paste from README or any page of the docs works; `pages.py` says how it is found."""

import os
import subprocess
import sys
import tomllib
from contextlib import contextmanager

import pytest
import torch

from tests.pages import PAGES, ROOT, blocks, name_of
from tests.registrations import taken_back

KNOWN = {"python", "sh", "toml", "text", "yaml"}
ALL = [block for page in PAGES for block in blocks(page)]
WITH_PYTHON = [page for page in PAGES if any(block.reason is None for block in blocks(page, "python"))]
WITH_COMMANDS = [
    block for block in ALL if block.language == "sh" and any(block.runs(command) for command in block.commands)
]
EVONORM_COMMANDS = {
    (name_of(block.page), tuple(command)): None
    for block in ALL
    if block.language == "sh"
    for command in block.commands
    if command[0] == "evonorm"
}


def test_every_block_says_what_it_is():
    for block in ALL:
        place = f"{name_of(block.page)}:{block.line}"
        assert block.language in KNOWN or block.language.startswith("{"), f"{place}: ```{block.language}"
        if block.language == "toml":
            tomllib.loads(block.code)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_stands_between_fences(page):
    """An indented block would be shown, but never run."""
    fenced, before = False, ""
    for line in page.read_text().splitlines():
        fenced ^= line.lstrip().startswith("```")
        if not fenced and line.startswith("    ") and not before.strip():
            assert not line.startswith(("    evonorm ", "    python ", "    make ", "    import ")), line
        before = line


@pytest.mark.parametrize(("page", "command"), EVONORM_COMMANDS, ids=lambda value: " ".join(value)[:60])
def test_every_command_is_one(page, command, command_line):
    """Also those that are not run: its sub-command and options exist, and its values are of their types."""
    command_line.main([*command[1:]], prog_name="evonorm", standalone_mode=False)


@pytest.fixture(scope="module")
def command_line():
    """The command line with functions that do nothing."""
    typer = pytest.importorskip("typer", reason="typer is in the search extra")
    from evonorm.cli.root import app

    def leaves(command):
        if hasattr(command, "list_commands"):
            for name in command.list_commands(None):
                yield from leaves(command.get_command(None, name))
        else:
            yield command

    whole = typer.main.get_command(app)
    with pytest.MonkeyPatch.context() as patch:  # other tests call the same commands in earnest
        for command in leaves(whole):
            patch.setattr(command, "callback", lambda **_: None)
        yield whole


@contextmanager
def as_it_was():
    """Registrations of ours and of timm's are taken back."""
    from timm.layers import create_norm_act

    known = dict(create_norm_act._NORM_ACT_MAP)
    try:
        with taken_back():
            yield
    finally:
        create_norm_act._NORM_ACT_MAP.clear()
        create_norm_act._NORM_ACT_MAP.update(known)


@pytest.fixture
def workshop(tmp_path, monkeypatch):
    """A folder as a reader of the README has it: the checkout's recipes, and two finished searches."""
    from evonorm.journal import import_journal

    for run, journal in (("first", "b-evolution"), ("random-1", "b-random")):
        (tmp_path / "runs" / run).mkdir(parents=True)
        import_journal(ROOT / "studies" / "search" / f"{journal}.evonorm", tmp_path / "runs" / run / "journal.sqlite")
    for name in ("recipes", "studies", "benchmarks", "examples", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_programs_run(page, workshop):
    """Page by page from top to bottom, since later programs may use what earlier ones made."""
    for package in ("torchvision", "timm", "transformers", "onnxscript"):
        pytest.importorskip(package, reason=f"{package} is in the dev extra")
    torch.manual_seed(0)
    names = {"__name__": "page"}
    with as_it_was():
        for block in blocks(page, "python"):
            if block.reason is None:
                lines = "\n" * block.line  # so that a traceback names the line of the page
                exec(compile(lines + block.code, name_of(page), "exec"), names)


@pytest.mark.slow
@pytest.mark.parametrize("block", WITH_COMMANDS, ids=lambda block: f"{name_of(block.page)}:{block.line}")
def test_commands_run(block, workshop):
    (workshop / "bin").mkdir()
    program = workshop / "bin" / "evonorm"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m evonorm "$@"\n')
    program.chmod(0o755)
    path = os.pathsep.join([str(program.parent), os.path.dirname(sys.executable), os.environ["PATH"]])  # noqa: PTH120
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    for command in block.commands:
        if block.runs(command):
            done = subprocess.run(command, cwd=workshop, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
