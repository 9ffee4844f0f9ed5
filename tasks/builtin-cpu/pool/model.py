import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return F.relu(F.max_pool2d(x, 2))


def get_inputs():
    return [torch.randn(1, 8, 256, 256)]


def get_init_inputs():
    return []
