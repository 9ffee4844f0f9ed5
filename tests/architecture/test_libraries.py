"""Torch, core and adapters keep to their libraries, and each rule is shown to fire."""

from __future__ import annotations

import subprocess
from pathlib import Path

import library_rules as rules
import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = [
    name
    for name in subprocess.run(
        ["git", "ls-files", "--", "*.cpp", "*.hpp"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    if (ROOT / name).exists()
]
TEXTS = {name: (ROOT / name).read_text() for name in NAMES}
INCLUDES = {name: rules.includes_of(text) for name, text in TEXTS.items()}


def test_torch_stays_in_its_folders_and_away_from_protobuf() -> None:
    complaints = [
        line for name in NAMES for line in rules.torch_complaints(name, TEXTS[name], INCLUDES)
    ]
    assert not complaints, "\n".join(complaints)


def test_core_is_pure() -> None:
    core = [name for name in NAMES if "core" in name.split("/") and not name.startswith("tests/")]
    complaints = [line for name in core for line in rules.core_complaints(name, TEXTS[name])]
    assert core
    assert not complaints, "\n".join(complaints)


def test_an_adapter_has_one_third_party_library() -> None:
    adapters = [name for name in NAMES if "adapters" in name.split("/")]
    complaints = [line for name in adapters for line in rules.adapter_complaints(name, TEXTS[name])]
    assert adapters
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(
    ("source", "text", "refused"),
    [
        ("policy/model/a.cpp", "#include <torch/torch.h>\n", False),
        ("policy/engine/a.cpp", "#include <ATen/ATen.h>\n", False),
        ("learner/torch/a.cpp", "torch::Tensor f();\n", False),
        ("x/a.cpp", "#include <torch/torch.h>\n", True),
        ("policy/adapters/a.cpp", "#include <torch/torch.h>\n", True),
        ("learner/app/a.cpp", "#include <c10/core/Device.h>\n", True),
        ("learner/app/a.cpp", '#include "policy/model/a.hpp"\n', True),
        ("learner/app/a.cpp", '#include "policy/model/plain.hpp"\n', False),
        ("policy/core/a.cpp", "void f(const at::Tensor&);\n", True),
        ("policy/core/a.cpp", "// not a torch::Tensor\nint f();\n", False),
        ("policy/core/a.cpp", 'auto s = "#include <torch/torch.h>\\n";\n', False),
        ("policy/core/a.cpp", "int x = what::at::y;\n", False),
        ("tests/unit/policy/a_test.cpp", "#include <torch/torch.h>\n", False),
        ("tests/unit/lease/a_test.cpp", "#include <torch/torch.h>\n", True),
        ("tasks/builtin-cpu/blur/teacher/a.cpp", "#include <torch/torch.h>\n", False),
        ("policy/model/a.cpp", '#include <torch/torch.h>\n#include "swage/v1/task.pb.h"\n', True),
        ("policy/model/a.cpp", '#include <torch/torch.h>\n#include "common/wire.hpp"\n', True),
    ],
)
def test_the_torch_rule_fires(source: str, text: str, refused: bool) -> None:
    includes = {
        source: rules.includes_of(text),
        "policy/model/a.hpp": ["torch/torch.h"],
        "policy/model/plain.hpp": ["vector"],
        "common/wire.hpp": ["swage/v1/task.pb.h"],
    }
    assert bool(rules.torch_complaints(source, text, includes)) == refused


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("#include <vector>\n", False),
        ("#include <boost/asio.hpp>\n", True),
        ("#include <mutex>\n", True),
        ("#include <thread>\n", True),
        ("#include <condition_variable>\n", True),
        ("#include <atomic>\n", True),
        ("#include <fstream>\n", True),
        ("#include <iostream>\n", True),
        ("#include <random>\n", True),
        ("#include <cstdlib>\n", True),
        ("#include <unistd.h>\n", True),
        ("#include <sys/socket.h>\n", True),
        ("#include <prometheus/counter.h>\n", True),
        ('#include "swage/v1/task.pb.h"\n', True),
        ("auto t = std::chrono::steady_clock::now();\n", True),
        ("std::chrono::steady_clock::time_point now;\n", False),
        ("wall_clock(now);\n", False),
        ("bool b = std::filesystem::exists(path);\n", True),
        ("std::filesystem::path joined;\n", False),
        ('std::printf("%d", 1);\n', True),
        ('std::snprintf(text, sizeof text, "%d", 1);\n', False),
        ("container.path(Root::system, name);\n", False),
        ('int code = system ("ls");\n', True),
        ("// std::mutex is not needed here\n", False),
        ('auto s = "steady_clock::now";\n', False),
        ('auto s = R"(printf("x"))";\n', False),
        ("std::lock_guard<std::mutex> held(mutex);\n", True),
    ],
)
def test_the_core_rule_fires(text: str, refused: bool) -> None:
    assert bool(rules.core_complaints("learner/core/a.cpp", text)) == refused


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ('#include <grpcpp/server.h>\n#include "swage/v1/task.pb.h"\n', False),
        ('#include <boost/asio/post.hpp>\n#include "common/rpc/client.hpp"\n', False),
        ("#include <nlohmann/json.hpp>\n#include <zstd.h>\n#include <sys/stat.h>\n", False),
        ('#include "common/redis/client.hpp"\n#include "swage/v1/task.pb.h"\n', True),
        ('#include "common/metrics/metrics.hpp"\n#include "common/rpc/client.hpp"\n', True),
        ("#include <cpprest/http_client.h>\n#include <hiredis/hiredis.h>\n", True),
        ("#include <unheard/of.hpp>\n#include <zstd.h>\n", True),
    ],
)
def test_the_adapter_rule_fires(text: str, refused: bool) -> None:
    assert bool(rules.adapter_complaints("learner/adapters/a.cpp", text)) == refused
