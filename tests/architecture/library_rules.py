"""Which libraries a source file may use: torch in three folders, core without the world, adapters
with one third-party library each. Everything here is a plain function from text to complaints."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^">]+)[">]', re.MULTILINE)
# A raw string, a string, a character, a comment: whichever begins first.
NOT_CODE = re.compile(
    r'R"([^(\s]*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\''
    r"|//[^\n]*|/\*(?:.|\n)*?\*/"
)

# Torch types appear here only (style, section 10). Tests of these folders see what they test; files
# that an agent or a teacher writes are data of the sandbox, not code of a process.
TORCH_FOLDERS = ("policy/model/", "policy/engine/", "learner/torch/")
# A model host is a Python process of its own with torch alone; this is its extension module.
TORCH_HOSTS = ("gpu_pool/model_host/",)
TORCH_TESTS = ("tests/unit/policy/", "tests/integration/policy/", "tests/unit/learner/",
               "tests/support/random_model.")  # fmt: skip
AGENT_FILES = re.compile(r"sandbox/template/|tasks/[\w-]+/\w+/teacher/|tests/(\w+/)*fixtures/")
TORCH_INCLUDE = re.compile(r"(torch|ATen|c10)/")
TORCH_WORD = re.compile(r"(?<![\w:])(torch|at|c10)::")
PROTO_INCLUDE = re.compile(r"(swage/v1|google/protobuf)/")

# What core may include beside its own: values, algorithms, notation, patterns.
CORE_STANDARD = set(
    re.findall(
        r"\w+",
        "algorithm array bit cctype charconv cmath compare concepts cstdarg cstddef cstdint cstdio"
        " cstring deque exception expected functional initializer_list iterator limits list map"
        " memory new numbers numeric optional queue ranges ratio set span stack stdexcept string"
        " string_view tuple type_traits unordered_map unordered_set utility variant vector",
    )
)
# chrono: durations and points only, see CORE_WORDS; filesystem: path as text only.
CORE_STANDARD |= {"chrono", "filesystem"}
# JSON and regular expressions are notation; the two POSIX headers hold pure functions and macros.
CORE_LIBRARIES = frozenset({"nlohmann/json.hpp", "tl/expected.hpp", "pcre2.h", "fnmatch.h",
                            "sys/wait.h"})  # fmt: skip
CORE_WORDS = re.compile(
    r"\b(?:\w+_clock::now\b|random_device\b|getenv\b|std::filesystem::(?!path\b)\w+"
    r"|std::(?:jthread|thread|this_thread|mutex|shared_mutex|condition_variable|future|async|atomic"
    r"|[io]?fstream|cout|cerr|clog|cin|rand|time)\b"
    r"|(?:std::)?(?:fopen|fprintf|printf|puts|fputs|perror|tmpfile|popen|system|fork|waitpid)\s*(?=\())"
)

# Libraries by the beginning of what is included; common's wrappers count as what they wrap.
LIBRARIES = {
    "gRPC": ("grpc", "grpcpp/", "google/protobuf/", "swage/v1/", "common/rpc/", "common/view/"),
    "Redis": ("hiredis", "common/redis/"),
    "Prometheus": ("prometheus/", "common/metrics/"),
    "HTTP": ("boost/beast", "common/http/"),
    "Kubernetes": ("cpprest/", "pplx/", "common/k8s/"),
    "torch": ("torch/", "ATen/", "c10/"),
    "OpenSSL": ("openssl/",),
    "YAML": ("yaml-cpp/",),
    "zstd": ("zstd.h",),
    "PCRE2": ("pcre2.h",),
}
# What every adapter may have beside its library: how it waits, JSON as notation, the kernel.
FREE = ("boost/asio", "boost/system", "nlohmann/", "tl/", "sys/", "linux/", "netinet/", "common/")
OWN = ("controller/", "rollout_worker/", "sandbox/", "gpu_pool/", "policy/", "learner/", "cli/",
       "tasks/", "tests/")  # fmt: skip


@cache
def code_of(text: str) -> str:
    """The text without comments and the inside of strings; lines keep their numbers."""

    def blank(found: re.Match[str]) -> str:
        whole = found[0]
        return ('""' if whole[0] in "R\"'" else " ") + "\n" * whole.count("\n")

    # Includes are kept: their quoted names are code.
    kept = re.sub(r'^(\s*#\s*include\s+)"([^"\n]+)"', r"\1<\2>", text, flags=re.MULTILINE)
    return NOT_CODE.sub(blank, kept)


def includes_of(text: str) -> list[str]:
    return INCLUDE.findall(code_of(text))


def closure(source: str, includes: Mapping[str, list[str]]) -> set[str]:
    """All that a file sees, through our own headers too."""
    seen: set[str] = set()
    waiting = [source]
    while waiting:
        for target in includes.get(waiting.pop(), []):
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return seen


def may_see_torch(source: str) -> bool:
    return source.startswith((*TORCH_FOLDERS, *TORCH_HOSTS, *TORCH_TESTS)) or bool(
        AGENT_FILES.match(source)
    )


def torch_complaints(source: str, text: str, includes: Mapping[str, list[str]]) -> list[str]:
    """Torch outside its folders, and torch beside protobuf; both also through own headers."""
    out = []
    seen = closure(source, includes)
    torch = sorted(i for i in seen if TORCH_INCLUDE.match(i))
    proto = sorted(i for i in seen if PROTO_INCLUDE.match(i))
    if torch and proto:
        out.append(f"{source} sees {torch[0]} and {proto[0]}: torch bundles another protobuf")
    if may_see_torch(source):
        return out
    if torch:
        out.append(f"{source} sees {torch[0]}: torch stays in {', '.join(TORCH_FOLDERS)}")
    elif word := TORCH_WORD.search(code_of(text)):
        out.append(f"{source} names {word[0]}: torch stays in {', '.join(TORCH_FOLDERS)}")
    return out


def core_complaints(source: str, text: str) -> list[str]:
    """What core has of the world: headers outside the pure ones, and words that act."""
    out = []
    for name in includes_of(text):
        own = name.startswith((*OWN, "common/"))  # the include rule judges these
        if not own and name not in CORE_STANDARD and name not in CORE_LIBRARIES:
            out.append(f"{source} includes <{name}>: core is pure")
    for number, line in enumerate(code_of(text).splitlines(), 1):
        if word := CORE_WORDS.search(line):
            out.append(f"{source}:{number} has {word[0]}: core is pure")
    return out


def library_of(include: str) -> str | None:
    """The third-party library that an include belongs to; nothing for what is free or own."""
    for library, beginnings in LIBRARIES.items():
        if include.startswith(beginnings):
            return library
    if include.startswith((*FREE, *OWN)) or "/" not in include:
        return None  # the standard library, POSIX, own code
    return include.split("/")[0]


def adapter_complaints(source: str, text: str) -> list[str]:
    """An adapter file with two third-party libraries."""
    found = {library for name in includes_of(text) if (library := library_of(name))}
    if len(found) < 2:
        return []
    return [f"{source} has {' and '.join(sorted(found))}: an adapter has one library"]
