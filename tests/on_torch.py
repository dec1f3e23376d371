"""Stores on a device that take and give arrays of NumPy, so that the tests of others run on them."""

import torch

from ordinate._base.arrays import on_host
from ordinate.passes import DeviceTriplets


class HostTriplets(DeviceTriplets):
    def loss(self, points, loss):
        value, gradient = super().loss(torch.from_numpy(points), loss)
        return value, on_host(gradient)

    def curvature(self, points, loss):
        return tuple(map(on_host, super().curvature(torch.from_numpy(points), loss)))

    def shape(self, points, loss):
        value, *sums = super().shape(torch.from_numpy(points), loss)
        return value, *map(on_host, sums)

    def similarity(self, vectors):
        return on_host(super().similarity(torch.from_numpy(vectors)))
