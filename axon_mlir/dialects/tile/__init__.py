# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tile: programs over symbolic strip, block and tile sizes, on values."""

from xdsl.ir import Dialect

from axon_mlir.dialects.tile.ops import (
    CARRY,
    COLLECT,
    LEVELS,
    OPERATIONS,
    SIZE_PREFIX,
    EmptyOp,
    ExtractOp,
    ForOp,
    IndexOp,
    InsertOp,
    LeafOp,
    LoadOp,
    NeutralOp,
    StoreOp,
    YieldOp,
    dims_attribute,
)
from axon_mlir.dialects.tile.types import SPACES, TileType, tile_type

TILE = Dialect("tile", list(OPERATIONS), [TileType])

__all__ = [
    "CARRY",
    "COLLECT",
    "LEVELS",
    "SIZE_PREFIX",
    "SPACES",
    "TILE",
    "EmptyOp",
    "ExtractOp",
    "ForOp",
    "IndexOp",
    "InsertOp",
    "LeafOp",
    "LoadOp",
    "NeutralOp",
    "StoreOp",
    "TileType",
    "YieldOp",
    "dims_attribute",
    "tile_type",
]
