import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(1024, 64)

    def forward(self, i):
        return torch.relu(self.emb(i)).sum(1)


def get_inputs():
    return [torch.randint(0, 1024, (1024, 32))]


def get_init_inputs():
    return []
