"""Stores on a device that take and give arrays of NumPy, so that the tests of others run on them."""

import numpy as np
import torch

from ordinate._arrays import on_host
from ordinate.stores import DeviceColumns, DeviceTriplets


class HostTriplets(DeviceTriplets):
    def loss(self, points, loss):
        value, gradient = super().loss(torch.from_numpy(points), loss)
        return value, on_host(gradient)

    def curvature(self, points, loss):
        return tuple(map(on_host, super().curvature(torch.from_numpy(points), loss)))

    def similarity(self, vectors):
        return on_host(super().similarity(torch.from_numpy(vectors)))


def device_columns(pairs, weights, n_items):
    """Columns on torch's CPU, from what Columns takes."""
    return DeviceColumns(
        torch.from_numpy(np.concatenate(pairs).astype(np.int32)),
        torch.from_numpy(np.concatenate([np.empty(0), *weights])),
        [len(column) for column in pairs],
        n_items,
    )
