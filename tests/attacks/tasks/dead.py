import torch
import torch.nn as nn


class Model(nn.Module):
    """Zero, whatever the input is: it cannot be judged."""

    def forward(self, x):
        return torch.relu(x - 100.0)


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []
