"""Element types that may cross the process boundary, by name and by code."""

import torch

CODES: dict[torch.dtype, int] = {
    torch.float32: 1,
    torch.float64: 2,
    torch.float16: 3,
    torch.bfloat16: 4,
    torch.int64: 5,
    torch.int32: 6,
    torch.int16: 7,
    torch.int8: 8,
    torch.uint8: 9,
    torch.bool: 10,
}
NAMES = {dtype: str(dtype).removeprefix("torch.") for dtype in CODES}
BY_NAME = {name: dtype for dtype, name in NAMES.items()}
