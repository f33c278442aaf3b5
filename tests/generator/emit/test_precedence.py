"""Operators in the generated text bind as in the expression: parsed by C's rules, it is the same tree."""

from __future__ import annotations

from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st
from pycparser import c_ast
from pycparser.c_parser import CParser

from generator.emit.cstyle import c_text
from generator.expr import Binary, Expr, Int, Name, Select, Unary

Tree: TypeAlias = "str | tuple[str, *tuple[Tree, ...]]"
OPERATORS = ("*", "/", "%", "+", "-", "<<", ">>", "<", "<=", "==", "!=", "&", "^", "|", "&&", "||")
EXPRESSIONS: st.SearchStrategy[Expr] = st.recursive(
    st.one_of(st.integers(0, 9).map(Int), st.sampled_from("ab").map(Name)),
    lambda inner: st.one_of(st.builds(Binary, st.sampled_from(OPERATORS), inner, inner),
                            st.builds(Binary, st.just("^"), inner, inner),
                            st.builds(Unary, st.just("-"), inner), st.builds(Select, inner, inner, inner)),
    max_leaves=8)


def tree(expr: Expr) -> Tree:
    match expr:
        case Binary(op, left, right):
            return op, tree(left), tree(right)
        case Unary(op, operand):
            return op, tree(operand)
        case Select(condition, then, otherwise):
            return "?", tree(condition), tree(then), tree(otherwise)
        case Int(value):
            return str(value)
        case Name(name):
            return name
    raise AssertionError(expr)


def parsed(node: c_ast.Node) -> Tree:
    match node:
        case c_ast.BinaryOp():
            return node.op, parsed(node.left), parsed(node.right)
        case c_ast.UnaryOp():
            return node.op, parsed(node.expr)
        case c_ast.TernaryOp():
            return "?", parsed(node.cond), parsed(node.iftrue), parsed(node.iffalse)
        case c_ast.Constant():
            return str(node.value)
        case c_ast.ID():
            return str(node.name)
    raise AssertionError(node)


@given(EXPRESSIONS)
def test_the_text_is_the_expression(expr: Expr) -> None:
    [declared] = CParser().parse(f"int x = {c_text(expr)};").ext
    assert parsed(declared.init) == tree(expr)


def test_exclusive_or_of_sums_and_products() -> None:
    a, b, c = Name("a"), Name("b"), Name("c")
    added, masked = Binary("+", a, b), Binary("&", b, Int(7))
    assert c_text(Binary("^", added, c)) == "a + b ^ c"
    assert c_text(Binary("^", c, added)) == "c ^ (a + b)"
    assert c_text(Binary("^", c, Binary("*", masked, Int(4)))) == "c ^ (b & 7) * 4"
    assert c_text(Binary("+", Binary("^", a, b), c)) == "(a ^ b) + c"
