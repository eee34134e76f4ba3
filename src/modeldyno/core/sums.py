"""Dimensions that follow from others: ``past_length + 1``, or the total of past and present."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from modeldyno.core.hints import says_past, says_sequence, says_total


def formulas(symbols: set[str]) -> dict[str, ast.expr]:
    """Symbols that follow from others: "past_length + 1", and totals of past and present."""
    by_symbol: dict[str, ast.expr] = {}
    plain = {symbol for symbol in symbols if not says_total(symbol)}
    for symbol in symbols:
        formula = _parsed(symbol)
        if formula is not None and _names(formula) <= plain:
            by_symbol[symbol] = formula
    past = sorted(s for s in symbols if says_past(s) and s not in by_symbol and not says_total(s))
    present = sorted(s for s in symbols if says_sequence(s) and not _is_past_or_total(s, by_symbol))
    for symbol in sorted(s for s in symbols if says_total(s) and s not in by_symbol):
        if past and present:
            by_symbol[symbol] = ast.BinOp(ast.Name(past[0]), ast.Add(), ast.Name(present[0]))
    return by_symbol


def _is_past_or_total(symbol: str, formulas: Mapping[str, ast.expr]) -> bool:
    return says_past(symbol) or says_total(symbol) or symbol in formulas


def _parsed(symbol: str) -> ast.expr | None:
    try:
        tree = ast.parse(symbol[:200], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree if isinstance(tree, ast.BinOp) and _is_arithmetic(tree) else None


def _is_arithmetic(tree: ast.expr) -> bool:
    match tree:
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult(), right):
            return _is_arithmetic(left) and _is_arithmetic(right)
        case ast.Name() | ast.Constant(value=int()):
            return True
        case _:
            return False


def _names(tree: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def evaluate(tree: ast.expr, sizes: Mapping[str, int]) -> int:
    match tree:
        case ast.BinOp(left, operator, right):
            a, b = evaluate(left, sizes), evaluate(right, sizes)
            if isinstance(operator, ast.Mult):
                return a * b
            return a + b if isinstance(operator, ast.Add) else a - b
        case ast.Name(name):
            return sizes[name]
        case ast.Constant(value=int(value)):
            return value
        case _:
            raise AssertionError(tree)
