"""Formula text <-> graph, and LaTeX: how people write and read a layer.

    formula := term (("+" | "-") term)*
    term    := unary (("*" | "/") unary)*
    unary   := "-" unary | atom
    atom    := "x" | "0" | "1" | "v0" | "v1" | function "(" formula ("," formula)* ")" | "(" formula ")"

`1` stands for exp(0), `a - b` for a + (-b), so every formula is a graph of Table 1's primitives and nothing else.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

from evonorm.foundation import did_you_mean
from evonorm.graph.graph import INITIAL_NODES, MAX_NODES, ZERO, Graph, Node, with_output
from evonorm.graph.primitives import PRIMITIVES

INFIX = {"+": "add", "*": "mul", "/": "div"}
FUNCTIONS = {name for name, primitive in PRIMITIVES.items() if primitive.formula.startswith(name + "(")}
KNOWN_NAMES = (*INITIAL_NODES, "1", *sorted(FUNCTIONS))
MAX_NESTING = 2 * MAX_NODES + 2  # the deepest formula that a graph can print
MAX_TEXT = 100_000

_TOKEN = re.compile(r"\s*(?:(?P<name>[A-Za-z_][A-Za-z_0-9]*)|(?P<number>[0-9.]+)|(?P<symbol>[-+*/(),]))")


class FormulaError(ValueError):
    """A formula that cannot be read: what is wrong, the text, and a caret under the place."""

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
    return _Parser(text).parse()


def formula_text(graph: Graph) -> str:
    """The formula of the live nodes; parsing it gives the same function."""
    return _write(graph, FORMULA)


def latex_text(graph: Graph) -> str:
    """The same in LaTeX, in the paper's letters."""
    return _write(graph, LATEX)


def _tokens(text: str) -> list[Token]:
    tokens, position = [], 0
    end = len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            position += len(text[position:]) - len(text[position:].lstrip())
            raise FormulaError(f"unexpected character {text[position]!r}.", text, position)
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
        if token.text in FUNCTIONS:
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
            hint = did_you_mean(token.text, KNOWN_NAMES, most=1)
            return self.error(f"unknown name {token.text!r}.{hint} Known names: {', '.join(KNOWN_NAMES)}.")
        if token.kind == "number":
            return self.error(f"the only numbers are 0 and 1, got {token.text!r}.")
        return self.error(f"expected x, 0, 1, v0, v1, a function or '(', got {token.text!r}.")


SUM, PRODUCT, MINUS, ATOM = range(4)


class Text(NamedTuple):
    """A written node and how tightly it binds: brackets go around what binds less than its place asks for."""

    text: str
    binding: int


@dataclass(frozen=True)
class _Style:
    """Formula text and LaTeX differ in names, brackets and templates; the rules of precedence are the same."""

    initial: tuple[str, ...]
    left: str
    right: str
    inline_division: bool
    right_factor: int  # how tightly the right side of a product must bind: "a -b" would read as a difference

    def wrap(self, text: Text, at_least: int) -> str:
        return text.text if text.binding >= at_least else f"{self.left}{text.text}{self.right}"

    def template(self, node: Node, first_input: str) -> str:
        if self.inline_division:
            return node.primitive.formula
        latex = node.primitive.latex
        return latex.replace(r"\left({0}\right)^2", "{0}^2") if first_input in self.initial else latex


FORMULA = _Style(INITIAL_NODES, "(", ")", inline_division=True, right_factor=MINUS)
LATEX = _Style(("x", "0", "v_0", "v_1"), r"\left(", r"\right)", inline_division=False, right_factor=ATOM)


def _write(graph: Graph, style: _Style) -> str:
    texts = {number: Text(name, ATOM) for number, name in enumerate(style.initial)}
    for number, node in graph.live_nodes:
        texts[number] = _node_text(graph, node, texts, style)
        if len(texts[number].text) > MAX_TEXT:
            raise ValueError(f"the formula is longer than {MAX_TEXT} characters; use graph.encode() to store it.")
    output = graph.node(graph.output)
    if output.op == "add" and output.inputs[0] < len(INITIAL_NODES) and output.inputs[1] == ZERO:
        return texts[output.inputs[0]].text  # how `with_output` writes a bare "x"
    return texts[graph.output].text


def _node_text(graph: Graph, node: Node, texts: dict[int, Text], style: _Style) -> Text:
    inputs = [texts[i] for i in node.inputs]
    if node == Node("exp", (ZERO,)):
        return Text("1", ATOM)
    if node.op == "neg":
        return Text(f"-{style.wrap(inputs[0], MINUS)}", MINUS)
    if node.op == "add":
        negated = _negated(graph, node.inputs[1])
        sign, right = ("+", inputs[1]) if negated is None else ("-", texts[negated])
        return Text(f"{style.wrap(inputs[0], SUM)} {sign} {style.wrap(right, PRODUCT)}", SUM)
    template = style.template(node, inputs[0].text)
    if node.op == "mul" or (node.op == "div" and style.inline_division):
        factors = style.wrap(inputs[0], PRODUCT), style.wrap(inputs[1], style.right_factor)
        return Text(template.format(*factors), PRODUCT)
    return Text(template.format(*(each.text for each in inputs)), ATOM)


def _negated(graph: Graph, number: int) -> int | None:
    """The node that this one negates, if it is a negation."""
    if number < len(INITIAL_NODES) or graph.node(number).op != "neg":
        return None
    return graph.node(number).inputs[0]
