# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Everything that touches xDSL's machinery (parsing, verification, registries, pipelines, diagnostics) and Python's own
(settings for long runs, processes)."""
