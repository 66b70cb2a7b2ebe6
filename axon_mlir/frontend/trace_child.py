# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the process of `sandbox` does: load the file, trace the function, give IR text or the error as JSON."""

from __future__ import annotations

import inspect
import json
import resource
import sys
import traceback
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

from xdsl.printer import Printer

from axon_mlir.errors import AxonError, UnsupportedError
from axon_mlir.frontend.numpy_trace import trace
from axon_mlir.frontend.places import place_of_traceback
from axon_mlir.frontend.rebinding import rebound
from axon_mlir.frontend.scipy_special import stand_in


def load(path: str) -> ModuleType:
    """Execute a Python file as a module; its errors become AxonErrors at their line."""
    sys.path.insert(0, str(Path(path).resolve().parent))
    module = ModuleType("axon_program")
    module.__file__ = path
    stand_in()
    sys.modules[module.__name__] = module
    try:
        # Compiled under the path that the user gave, so that messages say it too.
        code = compile(Path(path).read_bytes(), path, "exec")
        with rebound():
            exec(code, vars(module))
    except AxonError as error:
        raise error.at(path) from None
    except SyntaxError as error:
        raise AxonError(f"syntax error: {error.msg}", where=f"{error.filename or path}:{error.lineno or 1}") from None
    except (ValueError, UnicodeDecodeError) as error:
        where = place_of_traceback(error.__traceback__, path)
        raise AxonError(f"cannot load the program: {error}", where=str(where or path)) from None
    except BaseException as error:
        where = place_of_traceback(error.__traceback__, path)
        raise AxonError(
            f"loading the program raised {type(error).__name__}: {error}", where=str(where or path)
        ) from None
    return module


def choose(module: ModuleType, name: str | None, path: str) -> Callable[..., Any]:
    """The function of that name, or the only public one that the file defines."""
    own = {
        k: v
        for k, v in vars(module).items()
        if inspect.isfunction(v) and v.__module__ == module.__name__ and not k.startswith("_")
    }
    if name is not None:
        found = vars(module).get(name)
        if not inspect.isfunction(found):
            raise AxonError(f"no function '{name}'", where=path, accepted=", ".join(own) or "a file with a function")
        return found
    if len(own) != 1:
        raise AxonError(
            f"{len(own)} public functions",
            where=path,
            accepted=f"FILE:FUNC with one of {', '.join(own)}" if own else None,
        )
    return next(iter(own.values()))


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Trace as asked."""
    try:
        module = load(request["path"])
        function = choose(module, request["function"], request["path"])
        traced = trace(function, request["args"], generic_numbers=request["generic_numbers"])
    except AxonError as error:
        return {
            "message": error.message,
            "where": error.where,
            "accepted": error.accepted,
            "unsupported": isinstance(error, UnsupportedError),
        }
    except MemoryError:
        return {"message": "tracing ran out of memory", "where": request["path"]}
    except BaseException:
        return {"internal": traceback.format_exc()}
    stream = StringIO()
    Printer(stream, print_debuginfo=True).print_op(traced)
    return {"ir": stream.getvalue()}


def prepare(argument: str) -> None:
    """Nothing more than this module's imports."""


def main(argument: str) -> bytes:
    """Answer a request, both as JSON, under its limits."""
    request: dict[str, Any] = json.loads(argument)
    limit = int(request["memory_bytes"])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    seconds = int(request["seconds"])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    return json.dumps(answer(request)).encode()
