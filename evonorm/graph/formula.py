"""Formula text <-> graph, and LaTeX: how people write and read a layer.

    formula := term (("+" | "-") term)*
    term    := unary (("*" | "/") unary)*
    unary   := "-" unary | atom
    atom    := "x" | "0" | "1" | "v0" | "v1" | function "(" formula ("," formula)* ")" | "(" formula ")"

`1` stands for exp(0), `a - b` for a + (-b), so every formula is a graph of Table 1's primitives and nothing else.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from evonorm.foundation import did_you_mean
from evonorm.graph.dialects import spelled_here
from evonorm.graph.graph import INITIAL_NODES, MAX_NODES, ZERO, Graph, Node, with_output
from evonorm.graph.primitive import Primitive
from evonorm.graph.primitives import PRIMITIVES
from evonorm.graph.templates import ATOM, LETTER, PRODUCT, SUM, Piece, Template

INFIX = {"+": "add", "*": "mul", "/": "div"}
MAX_NESTING = 2 * MAX_NODES + 2  # the deepest formula that a graph can print
MAX_TEXT = 100_000

_TOKEN = re.compile(r"\s*(?:(?P<name>[A-Za-z_][A-Za-z_0-9]*)|(?P<number>[0-9.]+)|(?P<symbol>[-+*/(),]))")


class FormulaError(ValueError):
    """A formula that cannot be read: what is wrong, the text, and a caret under the place.

    A ValueError with the attributes `problem`, `text` and `position`.

    Example:
        try:
            evonorm.Graph.parse("x / std_bhw(x)")
        except evonorm.FormulaError as error:
            assert error.position == 4 and "Did you mean 'std_bwh'" in error.problem
    """

    def __init__(self, problem: str, text: str, position: int) -> None:
        start, end = max(0, position - 60), position + 40
        shown = "".join(c if c.isprintable() else " " for c in text[start:end])
        super().__init__(f"{problem}\n  {shown}\n  {' ' * (position - start)}^")
        self.problem, self.text, self.position = problem, text, position


@dataclass(frozen=True)
class Token:
    """A word of the text and where it stands."""

    text: str
    position: int
    kind: str  # "name", "number", "symbol" or "end"


def parse_formula(text: str) -> Graph:
    """The graph of a formula; equal sub-expressions become one node."""
    if not isinstance(text, str):
        raise TypeError(f"a formula is text such as 'x / std_bwh(x)', got {type(text).__name__}.")
    if len(text) > MAX_TEXT:
        raise FormulaError(f"a formula has at most {MAX_TEXT:,} characters, got {len(text):,}.", text, 0)
    return _Parser(text).parse()


def formula_text(graph: Graph) -> str:
    """The formula of the live nodes; parsing it gives the same function."""
    return _write(graph, FORMULA)


def latex_text(graph: Graph) -> str:
    """The same in LaTeX, in the paper's letters."""
    return _write(graph, LATEX)


def known_names() -> tuple[str, ...]:
    """Every word that a formula may contain."""
    functions = (name for name, primitive in PRIMITIVES.items() if primitive.is_function)
    return (*INITIAL_NODES, "1", *sorted(functions))


def _tokens(text: str) -> list[Token]:
    tokens, position = [], 0
    end = len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            position += len(text[position:]) - len(text[position:].lstrip())
            stray = text[position]
            raise FormulaError(f"unexpected character {stray!r}.{spelled_here(stray)}", text, position)
        kind = match.lastgroup or ""
        tokens.append(Token(match[kind], match.start(kind), kind))
        position = match.end()
    return [*tokens, Token("the end", end, "end")]


class _Parser:
    """Recursive descent over the tokens; nodes are shared by (op, inputs)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.at = 0
        self.nesting = 0
        self.numbers: dict[Node, int] = {}

    def parse(self) -> Graph:
        output = self.formula()
        if self.token.kind != "end":
            raise self.error(f"expected an operator (+ - * /) or the end, got {self.token.text!r}.")
        try:
            return with_output(self.numbers, output)
        except ValueError as error:
            raise FormulaError(str(error), self.text, 0) from None

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def error(self, problem: str) -> FormulaError:
        return FormulaError(problem, self.text, self.token.position)

    def take(self, symbol: str) -> bool:
        found = self.token.kind == "symbol" and self.token.text == symbol
        self.at += found
        return found

    def expect(self, symbol: str) -> None:
        if not self.take(symbol):
            raise self.error(f"expected {symbol!r}, got {self.token.text!r}.")

    def add_node(self, op: str, *inputs: int) -> int:
        return self.numbers.setdefault(Node(op, inputs), len(INITIAL_NODES) + len(self.numbers))

    def formula(self) -> int:
        left = self.term()
        while self.token.text in ("+", "-"):
            minus = self.token.text == "-"
            self.at += 1
            right = self.term()
            left = self.add_node("add", left, self.add_node("neg", right) if minus else right)
        return left

    def term(self) -> int:
        left = self.unary()
        while self.token.text in ("*", "/"):
            op = INFIX[self.token.text]
            self.at += 1
            if op == "mul" and self.token.text == "*":
                raise self.error(f"there is no operator '**'.{spelled_here('**')}")
            left = self.add_node(op, left, self.unary())
        return left

    def unary(self) -> int:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise self.error(f"the formula is nested deeper than {MAX_NESTING} levels.")
        number = self.add_node("neg", self.unary()) if self.take("-") else self.atom()
        self.nesting -= 1
        return number

    def atom(self) -> int:
        if self.take("("):
            number = self.formula()
            self.expect(")")
            return number
        token = self.token
        if token.text in INITIAL_NODES:
            self.at += 1
            return INITIAL_NODES.index(token.text)
        if token.text == "1":
            self.at += 1
            return self.add_node("exp", ZERO)
        if token.kind == "name" and token.text in PRIMITIVES and PRIMITIVES[token.text].is_function:
            return self.call(token.text)
        raise self.unknown(token)

    def call(self, function: str) -> int:
        place = self.token
        self.at += 1
        self.expect("(")
        inputs = [self.formula()]
        while self.take(","):
            inputs.append(self.formula())
        self.expect(")")
        arity = PRIMITIVES[function].arity
        if len(inputs) != arity:
            problem = f"{function} takes {arity} input(s), got {len(inputs)}."
            raise FormulaError(problem, self.text, place.position)
        return self.add_node(function, *inputs)

    def unknown(self, token: Token) -> FormulaError:
        if token.kind == "name":
            known = known_names()
            hint = spelled_here(token.text) or did_you_mean(token.text, known, most=1)
            return self.error(f"unknown name {token.text!r}.{hint} Known names: {', '.join(known)}.")
        if token.kind == "number":
            return self.error(f"the only numbers are 0 and 1, got {token.text!r}.{spelled_here('2')}")
        return self.error(f"expected x, 0, 1, v0, v1, a function or '(', got {token.text!r}.")


@dataclass(frozen=True)
class Style:
    """A way to write graphs: letters, brackets, and which face of a primitive; precedence is the templates' matter."""

    face: Callable[[Primitive], Template]
    initial: tuple[str, ...]
    one: str
    difference: Template
    bracketed: Callable[[str], str]
    longest: int
    too_long: str


_DIFFERENCE = Template("{0} - {1}", SUM, (SUM, PRODUCT))
_TOO_LONG = f"the formula is longer than {MAX_TEXT} characters; use graph.encode() to store it."
FORMULA = Style(lambda p: p.formula, INITIAL_NODES, "1", _DIFFERENCE, lambda text: f"({text})", MAX_TEXT, _TOO_LONG)
LATEX = replace(
    FORMULA,
    face=lambda primitive: primitive.latex,
    initial=("x", "0", "v_0", "v_1"),
    bracketed=lambda text: rf"\left({text}\right)",
)


def written_nodes(graph: Graph, style: Style) -> dict[int, Piece]:
    """Every live node as text. Raises ValueError if one is far too long to read."""
    pieces = {number: Piece(letter, LETTER) for number, letter in enumerate(style.initial)}
    for number, node in graph.live_nodes:
        pieces[number] = _written(graph, node, pieces, style)
        if len(pieces[number].text) > style.longest:
            raise ValueError(style.too_long)
    return pieces


def _written(graph: Graph, node: Node, pieces: dict[int, Piece], style: Style) -> Piece:
    if node == Node("exp", (ZERO,)):
        return Piece(style.one, ATOM)
    negated = _negated(graph, node.inputs[1]) if node.op == "add" else None
    if negated is not None:
        return style.difference.fill([pieces[node.inputs[0]], pieces[negated]], style.bracketed)
    return style.face(node.primitive).fill([pieces[i] for i in node.inputs], style.bracketed)


def _negated(graph: Graph, number: int) -> int | None:
    """The node that this one negates, if it is a negation."""
    if number < len(INITIAL_NODES) or graph.node(number).op != "neg":
        return None
    return graph.node(number).inputs[0]


def _write(graph: Graph, style: Style) -> str:
    pieces = written_nodes(graph, style)
    output = graph.node(graph.output)
    if output.op == "add" and output.inputs[0] < len(INITIAL_NODES) and output.inputs[1] == ZERO:
        return pieces[output.inputs[0]].text  # how `with_output` writes a bare "x"
    return pieces[graph.output].text
