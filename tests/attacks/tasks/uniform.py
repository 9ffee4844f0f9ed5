import torch
import torch.nn as nn


class Model(nn.Module):
    """The mean of a softmax, always 1 / 512: it cannot be judged."""

    def forward(self, x):
        return torch.softmax(x, 1).mean(1)


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []
