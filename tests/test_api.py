"""Everything public is documented: what it is, its arguments, an example that runs as it stands there."""

import copy
import dataclasses
import inspect
import re
import textwrap

import numpy as np
import pytest
import torch

import evonorm
import evonorm.data
import evonorm.training
from tests.test_pages import as_it_was, workshop  # noqa: F401 (a fixture)

EXAMPLE = re.compile(r"^Example:(?: (?P<one>.*)|\n(?P<several>(?:(?: {4}.*)?\n)*))", re.MULTILINE)
PUBLIC = [name for name in evonorm.__all__ if not name.startswith("__")]


def documentation(name):
    return (inspect.getdoc(getattr(evonorm, name)) or "") + "\n"


def example(name):
    found = EXAMPLE.search(documentation(name))
    assert found is not None, f"the docstring of evonorm.{name} has no `Example:`"
    return found["one"] or textwrap.dedent(found["several"])


@pytest.mark.parametrize("name", PUBLIC)
def test_every_argument_is_explained(name):
    thing = getattr(evonorm, name)
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return
    text = documentation(name)
    arguments = [
        each for each in inspect.signature(thing).parameters if each not in ("args", "kwargs") and each[0] != "_"
    ]
    told = re.search(r"^Arguments:\n((?:(?: {4}.*)?\n)+)", text, re.MULTILINE)
    names = (
        set()
        if told is None
        else {word for line in re.findall(r"^ {4}([\w, ]+):", told[1], re.MULTILINE) for word in line.split(", ")}
    )
    missing = [each for each in arguments if each not in names and f"`{each}`" not in text]
    assert len(arguments) <= 1 or not missing, f"evonorm.{name} does not explain {missing}"
    assert names <= set(arguments), f"evonorm.{name} explains {names - set(arguments)}, which it does not take"


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLIC)
def test_its_example_runs(name, workshop):  # noqa: F811
    torchvision = pytest.importorskip("torchvision", reason="torchvision is in the dev extra")
    timm = pytest.importorskip("timm", reason="timm is in the dev extra")
    known = {"torch": torch, "nn": torch.nn, "np": np, "copy": copy, "dataclasses": dataclasses, "evonorm": evonorm}
    with as_it_was():
        exec(compile(example(name), f"example of {name}", "exec"), known | {"torchvision": torchvision, "timm": timm})
