import torch
import torch.nn as nn


class Model(nn.Module):
    """One, and what the input adds is below every tolerance."""

    def forward(self, x):
        return torch.tanh(x) * 1e-3 + 1.0


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []
