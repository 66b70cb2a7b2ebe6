# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our dialects and passes as stock xDSL tools find them (entry point group `xdsl.universe`).

Every xDSL tool on the machine imports this module at start, so it imports nothing of ours but the tables of names.
"""

from xdsl.universe import Universe

from axon_mlir.host.registry import dialect_factories, pass_factories

AXON = Universe(all_dialects=dialect_factories(), all_passes=pass_factories())
