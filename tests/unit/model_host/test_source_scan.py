import pytest
from swage_model_host.source_scan import findings


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import os", "imports os"),
        ("import os.path as p", "imports os"),
        ("from sys import modules", "imports sys"),
        ("import torch\ntorch.ops.aten.relu(1)", "uses torch.ops"),
        ("import torch as t\nt._C._nn.linear", "uses torch._C"),
        ("from torch import compile", "uses torch.compile"),
        ("import torch.jit", "uses torch.jit"),
        ("import torch\ngetattr(torch, 'ops')", "uses torch.ops"),
        ("getattr(x, name)", "calls getattr with a name that is not written out"),
        ("exec('1')", "calls exec"),
        ("from model import Model", "imports the reference"),
        ("class ModelNew(Model): pass", "class ModelNew inherits Model"),
        ("def forward():\n    import gc", "imports gc"),
    ],
)
def test_a_tripwire_fires(source: str, words: str) -> None:
    assert words in [found for _, found in findings(source)]


@pytest.mark.parametrize(
    "source",
    [
        "import torch\nimport torch.nn as nn\nimport cuda_extension\nimport math, time",
        "from torch import nn",
        "def compile(x): return x\ncompile(1)",
        "class ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()",
        "x = 'import os'  # import sys",
        "getattr(x, 'shape')",
        "def relu(x): return x\nrelu(1)",
        "import torch\nif torch.__version__: pass",
        "not python at all (",
    ],
)
def test_what_nearly_fires_does_not(source: str) -> None:
    assert findings(source) == []


def test_a_source_that_kills_the_parser_is_found() -> None:
    assert findings("x = " + "-" * 200_000 + "1") == [(1, "cannot be parsed")]
