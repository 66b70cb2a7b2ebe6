# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a query may hold: declarations and ground assertions over integers, reals and truth values, nothing else.

Quantifiers, arrays, lambdas and recursive functions make a solver's answer depend on heuristics, and induction by hand
would be no induction. `lint_text` looks at the words of a script, `lint_assertions` at what Z3 has made of it; both are
lists of what is allowed, so that what nobody has thought of is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import z3  # pyright: ignore[reportMissingTypeStubs]

_z3: Any = z3

_TOKEN = re.compile(r';[^\n]*|\|[^|]*\||"[^"]*"|[^\s()|;"]+')
_NUMERAL = re.compile(r"[0-9]+(\.[0-9]+)?")
_DECLARED = re.compile(r"\(\s*declare-(?:const|fun)\s+(\|[^|]*\||[^\s()|;]+)")
_COMMANDS = frozenset(("declare-const", "declare-fun", "assert", "check-sat"))
_SORTS = frozenset(("Int", "Real", "Bool"))
_OPERATORS = frozenset(
    ("true", "false", "and", "or", "not", "=>", "ite", "=", "<", "<=", ">", ">=", "+", "-", "*", "/", "to_real")
)
_ALLOWED = _COMMANDS | _SORTS | _OPERATORS
_CALLED = {
    "forall": "a quantifier",
    "exists": "a quantifier",
    "lambda": "a lambda",
    "define-fun-rec": "a recursive function",
    "define-funs-rec": "a recursive function",
    "Array": "an array",
    "->": "a function as a value",
}
"""What a forbidden word stands for, where it has a name of its own."""

_ALLOWED_SORTS = (z3.Z3_INT_SORT, z3.Z3_REAL_SORT, z3.Z3_BOOL_SORT)


class ForbiddenQuery(Exception):
    """A query holds something that the method forbids; a bug of the engine. The message names the obligation."""


def lint_text(text: str, obligation: str) -> None:
    """Raise ForbiddenQuery unless a script declares ground symbols and asserts over them."""
    declared = set(_DECLARED.findall(text))
    for word in sorted(declared & (_ALLOWED | set(_CALLED))):
        raise ForbiddenQuery(f"{obligation}: declares '{word}', a word of the language")
    words = {w for w in _TOKEN.findall(text) if not w.startswith(";")}
    for word in sorted(words - _ALLOWED - declared):
        if not _NUMERAL.fullmatch(word):
            raise ForbiddenQuery(f"{obligation}: holds {_CALLED.get(word, 'a word that no query needs')}: {word}")


def lint_assertions(assertions: Iterable[Any], obligation: str) -> None:
    """Raise ForbiddenQuery unless every assertion, as Z3 reads it, is ground and of the three sorts."""
    seen: set[int] = set()
    kept: list[Any] = list(assertions)
    context: Any = kept[0].ctx.ref() if kept else None
    asts: list[Any] = [e.as_ast() for e in kept]
    while asts:
        # Not as objects of Python: a query has thousands of nodes.
        e = asts.pop()
        key = _z3.Z3_get_ast_id(context, e)
        if key in seen:
            continue
        seen.add(key)
        kind = _z3.Z3_get_ast_kind(context, e)
        if kind in (z3.Z3_QUANTIFIER_AST, z3.Z3_VAR_AST):
            said = "a lambda" if _z3.Z3_is_lambda(context, e) else "a quantifier"
            raise ForbiddenQuery(f"{obligation}: holds {said}")
        sort = _z3.Z3_get_sort(context, e)
        if _z3.Z3_get_sort_kind(context, sort) not in _ALLOWED_SORTS:
            raise ForbiddenQuery(f"{obligation}: holds an expression of sort {_z3.Z3_sort_to_string(context, sort)}")
        if kind == z3.Z3_APP_AST:
            app = _z3.Z3_to_app(context, e)
            declaration = _z3.Z3_get_app_decl(context, app)
            if _z3.Z3_get_decl_kind(context, declaration) == z3.Z3_OP_RECURSIVE:
                name = _z3.Z3_func_decl_to_string(context, declaration)
                raise ForbiddenQuery(f"{obligation}: holds a recursive function: {name}")
            asts += [_z3.Z3_get_app_arg(context, app, n) for n in range(_z3.Z3_get_app_num_args(context, app))]
