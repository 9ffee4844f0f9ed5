import torch
import torch.nn as nn


class Model(nn.Module):
    """Nobody writes the result."""

    def forward(self, x):
        return torch.empty_like(x)


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []
