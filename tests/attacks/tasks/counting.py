import torch
import torch.nn as nn


class Model(nn.Module):
    """Adds the number of calls: it cannot be judged."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * 2.0 + self.calls


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []
