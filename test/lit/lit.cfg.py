# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stock lit's view of this folder: `lit test/lit`. Under pytest the same files run in-process (test/lit_runner.py)."""

import os
import sys
from pathlib import Path

import lit.formats

root = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "test"))

from lit_runner import SUFFIXES, available_features  # noqa: E402

config.name = "axon_mlir"  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = list(SUFFIXES)  # noqa: F821
config.excludes = ["Inputs"]  # noqa: F821
config.test_source_root = str(Path(__file__).resolve().parent)  # noqa: F821
config.test_exec_root = str(root / "out" / "lit")  # noqa: F821
config.available_features |= available_features()  # noqa: F821
config.environment["AXON_PYTHON"] = sys.executable  # noqa: F821
config.environment["NO_COLOR"] = "1"  # noqa: F821
config.environment["PATH"] = os.pathsep.join(  # noqa: F821
    [str(root / "tools"), str(Path(sys.executable).parent), os.environ.get("PATH", "")]
)
