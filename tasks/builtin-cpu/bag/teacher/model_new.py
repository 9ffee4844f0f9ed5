import torch
import torch.nn as nn
import cuda_extension


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(1024, 64)

    def forward(self, i):
        y = torch.empty(1024, 64)
        cuda_extension.run(i, self.emb.weight, y)
        return y
