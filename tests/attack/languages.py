"""Texts that people write: formulas, encoded graphs, recipes."""

import numpy as np

from evonorm.graph import CATALOG, Graph, sample_graph
from evonorm.graph.formula import known_names
from evonorm.runner import load_recipe
from evonorm.runner.recipe_file import SHIPPED
from tests.attack.frame import Attack, SilentError

SYMBOLS = [*"+-*/(),. \t\n_[]{}:;=#'\"\\", "\x00", "\x1b[2J", "é", "∑", "1e9", "2", "0", "1", "x x", "((", "))"]
VALUES = [
    "-1",
    "0",
    "1e400",
    "nan",
    "inf",
    "true",
    '""',
    '"\\u001b"',
    "[]",
    "[[[]]]",
    "{}",
    "9" * 40,
    "2020-01-01",
    "[1, 2]",
]


def mutated(text, rng, words, most=4):
    """A few of: a word put in, a stretch taken out, doubled, or put elsewhere."""
    for _ in range(rng.randint(1, most)):
        place, end = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
        end = min(end, place + 40)
        kind = rng.randrange(4)
        if kind == 0:
            text = text[:place] + rng.choice(words) + text[place:]
        elif kind == 1:
            text = text[:place] + text[end:]
        elif kind == 2:
            text = text[:end] + text[place:end] * rng.choice([1, 1, 1, 50]) + text[end:]
        else:
            text = text[:place] + text[end:] + text[place:end]
    return text


def formulas(_):
    known = [entry.formula for entry in CATALOG.values() if entry.formula]
    words = [*known_names(), *SYMBOLS]

    def attempt(rng):
        if rng.random() < 0.3:
            text = " ".join(rng.choice(words) for _ in range(rng.randint(0, 30)))
        else:
            text = mutated(rng.choice(known), rng, words)
        graph = Graph.parse(text)
        if str(Graph.parse(str(graph))) != str(graph):
            raise SilentError(f"{text!r} becomes {graph} and then something else")
        return "read"

    return attempt


def encodings(_):
    def attempt(rng):
        text = sample_graph(np.random.default_rng(rng.getrandbits(32)), rng.randint(1, 12)).encode()
        changed = mutated(text, rng, ["add", "mul:", ":", ",", "0", "-1", "99999999999", " ", *SYMBOLS])
        graph = Graph.decode(changed)
        if Graph.decode(graph.encode()) != graph:
            raise SilentError(f"{changed!r} does not survive")
        return "read"

    return attempt


def recipes(place):
    texts = [path.read_text() for path in sorted(SHIPPED.glob("*.toml"))]

    def attempt(rng):
        lines = rng.choice(texts).splitlines()
        for _ in range(rng.randint(1, 3)):
            number = rng.randrange(len(lines))
            key, equals, value = lines[number].partition("=")
            kind = rng.randrange(5)
            if kind == 0 and equals:
                lines[number] = f"{key}= {rng.choice(VALUES)}"
            elif kind == 1:
                del lines[number]
                lines = lines or [""]
            elif kind == 2:
                lines.insert(number, rng.choice(lines))
            elif kind == 3:
                lines[number] = mutated(lines[number], rng, [*SYMBOLS, *VALUES])
            else:
                lines[number] = f"{mutated(key, rng, ['a', '.', '_'], 1)}{equals}{value}"
        path = place / "recipe.toml"
        path.write_text("\n".join(lines), errors="replace")
        load_recipe(path)
        return "read"

    return attempt


LANGUAGES = [
    Attack("formulas", formulas, 1.0),
    Attack("encodings", encodings, 1.0),
    Attack("recipes", recipes, 0.5),
]
