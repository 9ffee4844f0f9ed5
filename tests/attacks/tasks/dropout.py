import torch
import torch.nn as nn


class Model(nn.Module):
    """Dropout that is never off: it cannot be judged."""

    def forward(self, x):
        return nn.functional.dropout(x, 0.5, training=True) * 2.0


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []
