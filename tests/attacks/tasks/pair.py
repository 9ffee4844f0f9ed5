import torch
import torch.nn as nn


class Model(nn.Module):
    """Two results."""

    def forward(self, x):
        return x * 2.0, torch.relu(x)


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []
