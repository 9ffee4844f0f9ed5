import torch
import torch.nn as nn
import cuda_extension


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        y = torch.empty_like(q)
        cuda_extension.run(q, k, v, y)
        return y
