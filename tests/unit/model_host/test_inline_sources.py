import ast
import json
from pathlib import Path

import pytest
from swage_model_host import inline_sources
from swage_model_host.inline_sources import InlineError, take

HEAD = "import torch\nfrom torch.utils.cpp_extension import load_inline\n"
CPP = '"#include <torch/extension.h>\\nvoid run(int n) {}"'


def test_sources_become_a_unit_and_the_call_becomes_the_module() -> None:
    taken = take(
        f'{HEAD}k = load_inline(name="k", cpp_sources={CPP}, functions=["run"])\nk.run(3)\n'
    )
    (path, unit), *others = taken.files.items()
    assert not others and path == "kernels/inline_0_binding.cpp"
    assert "torch/extension.h" not in unit and "void run(int n) {}" in unit
    assert 'm.def("run", &run);' in unit
    assert "load_inline" not in taken.model_new
    assert "k = cuda_extension" in taken.model_new
    ast.parse(taken.model_new)
    assert taken.changes == [
        "the sources of load_inline in line 3 were compiled like kernels/*.cpp"
    ]


def test_names_sums_and_lists_of_texts_are_followed() -> None:
    taken = take(
        f"{HEAD}a = 'void a() {{}}'\nb = a + ' void b() {{}}'\n"
        "k = load_inline('k', [b], functions={'a': 'docs'}, extra_cflags=['-O1'])\n"
    )
    unit = taken.files["kernels/inline_0_binding.cpp"]
    assert "void a() {} void b() {}" in unit and 'm.def("a", &a);' in unit
    assert taken.changes[0].endswith("not used: extra_cflags")


def test_factories_of_torch_become_those_of_at_and_nothing_else_does() -> None:
    text = "'auto a = torch::empty_like (x); torch::Tensor b = torch::zerosome(x); torch::relu(x);'"
    unit = take(f"k = load_inline('k', {text}, functions=[])").files["kernels/inline_0_binding.cpp"]
    assert "at::empty_like (x); torch::Tensor b = torch::zerosome(x); torch::relu(x);" in unit


def test_columns_after_umlauts_and_other_lines_stay() -> None:
    taken = take(
        f'{HEAD}ä = "ö"; k = load_inline("k", {CPP}, functions=["run"]); o = "// # pass"\n'
    )
    assert taken.model_new.splitlines()[2] == 'ä = "ö"; k = cuda_extension; o = "// # pass"'


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("def broken(", "cannot be parsed"),
        ("k = load_inline('k', open('x').read(), functions=['f'])", "cpp_sources of load_inline"),
        ("k = load_inline('k', s, functions=['f'])", "is not written out"),
        ("s = 'a'\ns = 'b'\nk = load_inline('k', s, functions=['f'])", "is not written out"),
        ("s = s\nk = load_inline('k', s, functions=['f'])", "too deep"),
        ("k = load_inline('k', 'x', cuda_sources='y', functions=['f'])", "need a GPU"),
        ("k = load_inline('k', functions=['f'])", "without cpp_sources"),
        ("k = load_inline('k', 'x', functions=['f()'])", "are not names"),
        ("k = load_inline('k', {'x': 1}, functions=['f'])", "neither text nor a list"),
    ],
)
def test_what_is_not_written_plainly_is_refused_with_a_reason(source: str, why: str) -> None:
    with pytest.raises(InlineError, match=why):
        take(source)


def test_a_source_without_calls_stays_as_it_is() -> None:
    taken = take("import cuda_extension as k\n")
    assert taken.model_new == "import cuda_extension as k\n" and not taken.files


def test_errors_are_written_as_an_answer(tmp_path: Path) -> None:
    (tmp_path / "in.py").write_bytes(b"\xff\xfe")
    assert inline_sources.main([str(tmp_path / "in.py"), str(tmp_path / "out")]) == 0
    assert "decode" in json.loads((tmp_path / "out").read_text())["error"]
