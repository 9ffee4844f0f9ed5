import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        x = torch.relu(x) * 0.5 + x * x
        return torch.cumsum(x, dim=0)


def get_inputs():
    return [torch.randn(512, 1024)]


def get_init_inputs():
    return []
