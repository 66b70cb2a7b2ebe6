# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Views of tensors by their shapes: no data moves.

On chip the first axis is the partitions; no view reorders, splits, merges or removes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from axon_mlir.sim.failures import Misuse

if TYPE_CHECKING:
    from axon_mlir.sim.memory import Tensor

Pattern = Sequence[str | Sequence[str]]
"""Names of axes; several in one group are an axis that is split or merged."""


class Views:
    """The views that a tensor has of itself, in terms of `shown`: a tensor of the same storage with other data.

    What is not implemented here is the tensor's. An abstract class would slow down every `isinstance` of a run.
    """

    __slots__ = ()

    data: NDArray[Any]

    @property
    def on_chip(self) -> bool:
        """Whether the first axis is the partitions."""
        raise NotImplementedError

    def shown(self, data: NDArray[Any]) -> Tensor:
        """A tensor of the same storage that shows these elements of it."""
        raise NotImplementedError

    def refuse(self, message: str, *, rule: str, accepted: str | None = None) -> NoReturn:
        """Stop the run: this view is not possible."""
        raise NotImplementedError

    # What kernels ask.

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements from one index to the next, for each axis."""
        return tuple(stride // self.data.itemsize for stride in self.data.strides)

    def is_contiguous(self) -> bool:
        """Whether the elements lie one after the other; on chip, those of a partition."""
        run = 1
        for extent, stride in reversed(list(zip(self.data.shape, self.strides, strict=True))[self.on_chip :]):
            if extent != 1 and stride != run:
                return False
            run *= extent
        return True

    def get_pattern(self) -> list[list[int]]:
        """The access pattern, a pair (stride, count) for each axis."""
        return [[stride, extent] for stride, extent in zip(self.strides, self.data.shape, strict=True)]

    def is_indirect(self) -> bool:
        """Whether an index that is known only while the kernel runs chooses what is seen."""
        return False

    # Views.

    def permute(self, dims: Sequence[int]) -> Tensor:
        """The axes in another order."""
        if sorted(dims) != list(range(self.data.ndim)):
            self.refuse(f"axes {list(dims)} of a tensor of rank {self.data.ndim}", rule="view")
        if self.on_chip and dims[0] != 0:
            self.refuse("another axis in place of the partitions", rule="view", accepted="the first axis first")
        return self.shown(self.data.transpose(dims))

    def broadcast(self, dim: int, size: int) -> Tensor:
        """An axis of one element repeated."""
        dim = self._axis(dim)
        if self.data.shape[dim] != 1 or size < 1:
            self.refuse(f"axis {dim} of {self.data.shape[dim]} elements as {size}", rule="view", accepted="one element")
        shape, strides = list(self.data.shape), list(self.data.strides)
        shape[dim], strides[dim] = int(size), 0
        return self.shown(np.lib.stride_tricks.as_strided(self.data, shape, strides))

    def expand_dim(self, dim: int) -> Tensor:
        """A new axis of one element."""
        if not (1 if self.on_chip else 0) <= dim <= self.data.ndim:
            self.refuse(f"a new axis {dim} of a tensor of rank {self.data.ndim}", rule="view")
        return self.shown(np.expand_dims(self.data, dim))

    def squeeze_dim(self, dim: int) -> Tensor:
        """Without an axis of one element."""
        dim = self._axis(dim)
        if self.data.shape[dim] != 1:
            self.refuse(f"axis {dim} of {self.data.shape[dim]} elements removed", rule="view", accepted="one element")
        return self.shown(self.data.squeeze(dim))

    def reshape_dim(self, dim: int, shape: Sequence[int]) -> Tensor:
        """One axis split into several."""
        if tuple(shape) == (self.data.shape[dim],):
            return self.shown(self.data)
        dim = self._axis(dim)
        inner = self._sizes(shape, self.data.shape[dim])
        return self._reshaped((*self.data.shape[:dim], *inner, *self.data.shape[dim + 1 :]))

    def flatten_dims(self, start_dim: int, end_dim: int) -> Tensor:
        """Consecutive axes as one."""
        start, end = self._axis(start_dim), self._axis(end_dim)
        if end < start:
            self.refuse(f"axes {start_dim} to {end_dim} merged", rule="view")
        shape = self.data.shape
        return self._reshaped((*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :]))

    def reshape(self, shape: Sequence[int]) -> Tensor:
        """The same elements in the same order in another shape."""
        wanted = self._sizes(shape, self.data.size)
        if self.on_chip and wanted[0] != self.data.shape[0]:
            self.refuse(f"{self.data.shape[0]} partitions as {wanted[0]}", rule="view", accepted="as many partitions")
        return self._reshaped(wanted)

    def rearrange(
        self, src_pattern: Pattern, dst_pattern: Pattern, fixed_sizes: Mapping[str, int] | None = None
    ) -> Tensor:
        """Axes split, reordered and merged by their names."""
        groups = [(item,) if isinstance(item, str) else tuple(item) for item in src_pattern]
        wanted = [(item,) if isinstance(item, str) else tuple(item) for item in dst_pattern]
        names, order = [n for g in groups for n in g], [n for g in wanted for n in g]
        if len(groups) != self.data.ndim or sorted(names) != sorted(order) or len(set(names)) != len(names):
            self.refuse(f"pattern {src_pattern} to {dst_pattern} of a tensor of rank {self.data.ndim}", rule="view")
        sizes = dict(fixed_sizes or {})
        split: list[int] = []
        for group, extent in zip(groups, self.data.shape, strict=True):
            open_ = [n for n in group if n not in sizes]
            if len(group) == 1:
                sizes[group[0]] = extent
            elif len(open_) == 1:
                sizes[open_[0]] = extent // prod(sizes[n] for n in group if n in sizes)
            if (len(open_) > 1 and len(group) > 1) or prod(sizes[n] for n in group) != extent:
                self.refuse(f"{extent} elements as {group} with sizes {sizes}", rule="view")
            split += [sizes[n] for n in group]
        if self.on_chip and (groups[0] != wanted[0]):
            self.refuse("another axis in place of the partitions", rule="view", accepted="the first axis as it is")
        apart = self._viewed(self.data, tuple(split)).transpose([names.index(n) for n in order])
        return self.shown(self._viewed(apart, tuple(prod(sizes[n] for n in group) for group in wanted)))

    def _axis(self, dim: int) -> int:
        """An axis counted from the front, and not the partitions."""
        found = dim + self.data.ndim if dim < 0 else dim
        if not 0 <= found < self.data.ndim:
            self.refuse(f"axis {dim} of a tensor of rank {self.data.ndim}", rule="view")
        if self.on_chip and found == 0:
            self.refuse("a view of the partition axis", rule="view", accepted="another axis, or a slice")
        return found

    def _sizes(self, shape: Sequence[int], size: int) -> tuple[int, ...]:
        """A shape whose one -1 is what is left."""
        wanted = [int(n) for n in shape]
        if wanted.count(-1) == 1 and prod(n for n in wanted if n != -1):
            wanted[wanted.index(-1)] = size // prod(n for n in wanted if n != -1)
        if not wanted or min(wanted) < 1 or prod(wanted) != size:
            self.refuse(f"{size} elements in shape {list(shape)}", rule="view", accepted=f"a product of {size}")
        return tuple(wanted)

    def _reshaped(self, shape: tuple[int, ...]) -> Tensor:
        return self.shown(self._viewed(self.data, shape))

    def _viewed(self, data: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        out = data.reshape(shape)
        if not np.may_share_memory(out, data):
            self.refuse(
                f"shape {list(data.shape)} with strides {[s // data.itemsize for s in data.strides]} as {list(shape)}",
                rule="view",
                accepted="a shape that needs no copy",
            )
        return out


def reinterpreted(data: NDArray[Any], own: np.dtype[Any], other: np.dtype[Any]) -> NDArray[Any] | None:
    """The bits of an array of one type as another; None where the last axis is not contiguous or does not divide."""
    if data.dtype != own:
        raise Misuse("the bits of a tensor have no meaning in an exact run")
    if data.itemsize != other.itemsize and data.shape[-1] > 1 and data.strides[-1] != data.itemsize:
        return None
    return data.view(other) if data.shape[-1] * data.itemsize % other.itemsize == 0 else None


__all__ = ["Pattern", "Views", "reinterpreted"]
