# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The limits of a device that the machine itself enforces, with who demands them."""

from __future__ import annotations

from dataclasses import dataclass

from axon_mlir.errors import AxonError
from axon_mlir.targets import Device, Limit


@dataclass(frozen=True)
class Limits:
    """Sizes of the memories, and of the tiles that the language names."""

    partitions: Limit
    sbuf_bytes: Limit
    psum_bank_bytes: Limit
    psum_banks: Limit
    psum_bytes: Limit
    stationary_free: Limit
    moving_free: Limit
    bn_stats_free: Limit

    @property
    def psum_tile_bytes(self) -> int:
        """Bytes of a partition that a tile in PSUM may have: a bank, or the largest result of a float32 matmul."""
        return max(self.psum_bank_bytes.value, 4 * self.moving_free.value)


NAMES = {
    "partitions": "partitions",
    "sbuf_bytes": "sbuf_bytes_per_partition",
    "psum_bank_bytes": "psum_bank_bytes",
    "psum_banks": "psum_banks",
    "psum_bytes": "psum_bytes_per_partition",
    "stationary_free": "stationary_free",
    "moving_free": "moving_free",
    "bn_stats_free": "bn_stats_free",
}
"""Field of `Limits` -> name of the limit in descriptions."""


def limits_of(device: Device) -> Limits:
    """A device's limits; a description that lacks one is bad input."""
    for name in NAMES.values():
        if name not in device.limit_details:
            raise AxonError(f"the description of {device.name} has no limit `{name}`", where=device.where)
    return Limits(**{field: device.limit_details[name] for field, name in NAMES.items()})
