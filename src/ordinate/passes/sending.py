"""Sending the blocks of a store in the host's memory, or in a file, to a device.

Blocks are copied to pinned memory on threads of their own, and go from there to the device while it
works on the block before.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np

from ordinate._base.device import torch_device
from ordinate._base.optional import require

Tensor = Any
Blocks = Callable[[Callable[..., Any]], Iterable[Any]]  # calls a function with each block
IN_FLIGHT = 2  # blocks that may be on a device beyond the one that is sent


def sent(blocks: Blocks, device: str) -> Iterator[tuple[Tensor, ...]]:
    """Yield blocks on a device; the next is on its way while one is worked on."""
    torch, where = require("torch", extra="gpu"), torch_device(device)
    on_gpu = where.type == "cuda"

    def pinned(*arrays: np.ndarray) -> tuple[Tensor, ...]:
        return tuple(_copied(array, torch, on_gpu) for array in arrays)

    if not on_gpu:
        yield from blocks(pinned)
        return
    copying, working = _copying_stream(where), torch.cuda.current_stream(where)
    coming: deque[tuple[tuple[Tensor, ...], Any]] = deque()
    worked_on: deque[Any] = deque()

    def arrived() -> tuple[Tensor, ...]:
        tensors, arrival = coming.popleft()
        working.wait_event(arrival)
        for tensor in tensors:
            tensor.record_stream(working)
        return tensors

    for block in blocks(pinned):
        if len(worked_on) == IN_FLIGHT:
            worked_on.popleft().synchronize()
        with torch.cuda.stream(copying):
            tensors = tuple(tensor.to(where, non_blocking=True) for tensor in block)
            coming.append((tensors, copying.record_event()))
        if len(coming) > 1:
            yield arrived()
            worked_on.append(working.record_event())
    if coming:
        yield arrived()


@cache
def _copying_stream(where: Any) -> Any:
    """The one stream of a device: memory that was used on a stream is used again there alone."""
    return require("torch", extra="gpu").cuda.Stream(where)


def fill(tensors: tuple[Tensor, ...], blocks: Iterable[tuple[Tensor, ...]]) -> None:
    """Fill tensors with blocks, one after the other along their first axis."""
    at = 0
    for block in blocks:
        for tensor, part in zip(tensors, block, strict=True):
            tensor[at : at + len(part)] = part
        at += len(block[0])


def _copied(array: np.ndarray, torch: Any, pin: bool) -> Tensor:
    """Copy an array, which may be read-only, to a tensor; ids without a sign become int32."""
    array = array.view(np.int32) if array.dtype == np.uint32 else array
    kind = torch.int32 if array.dtype == np.int32 else torch.float64
    tensor = torch.empty(array.shape, dtype=kind, pin_memory=pin and array.size > 0)
    np.copyto(tensor.numpy(), array)
    return tensor
