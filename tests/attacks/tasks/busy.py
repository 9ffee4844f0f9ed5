import torch
import torch.nn as nn


class Model(nn.Module):
    """relu(2 x + 1) / 2, the long way round: neither eager nor Inductor sees that."""

    def forward(self, x):
        y = x * 2.0 + 1.0
        s = torch.sort(y, dim=-1).indices
        r = torch.argsort(s, dim=-1)
        y = torch.gather(torch.gather(y, -1, s), -1, r)
        return torch.relu(y) * 0.5


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []
