# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tile: programs over symbolic strip, block and tile sizes, on values."""

from xdsl.ir import Dialect

from axon_mlir.dialects.tile.ops import (
    CARRY,
    COLLECT,
    LEVELS,
    OPERATIONS,
    PLACE_PREFIX,
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
    free_sizes,
    parse_places,
    print_places,
)
from axon_mlir.dialects.tile.types import SPACES, TileType, tile_type

TILE = Dialect("tile", list(OPERATIONS), [TileType])

__all__ = [
    "CARRY",
    "COLLECT",
    "LEVELS",
    "PLACE_PREFIX",
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
    "free_sizes",
    "parse_places",
    "print_places",
    "tile_type",
]
