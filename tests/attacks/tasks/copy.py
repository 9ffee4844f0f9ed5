import torch
import torch.nn as nn


class Model(nn.Module):
    """relu(2 x + 1) / 2, and the input beside it."""

    def forward(self, x):
        return torch.relu(x * 2.0 + 1.0) * 0.5, x.clone()


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []
