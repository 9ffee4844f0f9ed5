import torch
import torch.nn as nn


class Model(nn.Module):
    """2 x + floor(x), whose second half is 0 for what get_inputs() draws."""

    def forward(self, x):
        return x * 2.0 + torch.floor(x)


def get_inputs():
    return [torch.rand(256, 512)]


def get_init_inputs():
    return []
