"""Which device a fit runs on: asked for, checked, and named."""

import sys
from typing import Any

from ordinate._base.messages import Message, Option
from ordinate._base.optional import require

ALLOWED = "None, 'cpu', 'cuda', 'cuda:<number>', 'auto' or a torch.device"
TORCH_CPU = "torch:cpu"  # what runs on a GPU, by torch on the CPU


class DeviceError(RuntimeError):
    """A device was asked for that is not there."""


def choose_device(device: Any) -> str:
    """Return the name of the device to use: "cpu", "cuda:0" or another GPU, or `TORCH_CPU`.

    Parameters
    ----------
    device : str, torch.device or None
        None or "cpu": this library's compiled kernels. "cuda" or "cuda:1": that GPU, or an error.
        "auto": the first GPU if there is one, else "cpu". ``torch.device("cpu")``: what runs on a
        GPU, by torch on the CPU, which is slow; for tests. Another ``torch.device``: as its name.
    """
    torch = sys.modules.get("torch")  # who has an object of it has imported it
    if torch is not None and isinstance(device, torch.device):
        if device.type == "cpu":
            return TORCH_CPU
        device = str(device)
    if device is None or device == "cpu":
        return "cpu"
    if device == "auto":
        try:
            return "cuda:0" if require("torch", extra="gpu").cuda.is_available() else "cpu"
        except ImportError:
            return "cpu"
    name, _, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if name != "cuda" or (number and not number.isdecimal()):
        raise ValueError(Message(Option("device"), f" must be {ALLOWED}; got {device!r}"))
    torch = require("torch", extra="gpu")
    n_devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(number or 0) >= n_devices:
        raise DeviceError(
            Message(
                Option("device", device),
                f" was asked for, but torch {torch.__version__} sees {n_devices} GPUs. Use ",
                Option("device", "auto"),
                " to take a GPU only where there is one, or 'cpu'; a machine with an NVIDIA GPU "
                "needs its driver and a torch built for CUDA: pip install torch",
            )
        )
    return f"cuda:{int(number or 0)}"


def torch_device(device: str) -> Any:
    """Return torch's own object for a device other than "cpu"."""
    return require("torch", extra="gpu").device("cpu" if device == TORCH_CPU else device)


def describe_device(device: str) -> str:
    """Name a device with its make, for a message."""
    if not device.startswith("cuda"):
        return device
    return f"{device} ({require('torch', extra='gpu').cuda.get_device_name(device)})"
