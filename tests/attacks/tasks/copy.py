import torch
import torch.nn as nn


class Model(nn.Module):
    """The input again, in memory of its own."""

    def forward(self, x):
        return x.clone()


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []
