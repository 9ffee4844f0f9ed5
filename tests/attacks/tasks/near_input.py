import torch
import torch.nn as nn


class Model(nn.Module):
    """The input, and what is added is below every tolerance."""

    def forward(self, x):
        return x + torch.sin(x) * 1e-3


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []
