"""Our part of an image: installed programs, what lies beside them, and the libraries they load."""

from __future__ import annotations

import re
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from swage_images.definition import PREFIX, REPOSITORY, USER, Image
from swage_images.layer import Entry

SYSTEM = re.compile(r"/(usr/)?lib(64)?/")
# What pods mount, so that a read-only root file system has the places.
MOUNTS = ("tmp", "workspace", "build", "run/swage", "etc/swage", "var/cache/swage", "var/lib/swage")
NOLOGIN = "/usr/sbin/nologin"
PASSWD = f"root:x:0:0:root:/root:{NOLOGIN}\nnobody:x:65534:65534::/nonexistent:{NOLOGIN}\n"
GROUP = "root:x:0:\nnogroup:x:65534:\n"


class ProgramError(Exception):
    """Something is not built or not installed; the text says what and how to get it."""


def need(program: str, build: Path) -> Path:
    file = build / "bin" / program
    if not file.exists():
        raise ProgramError(f"{file} is missing: make build")
    return file


def libraries(program: Path) -> list[Path]:
    """The system's libraries that a program loads; not those of the Python environment."""
    asked = subprocess.run(["ldd", program], check=True, capture_output=True, text=True)
    if lost := re.findall(r"^\s*(\S+) => not found", asked.stdout, re.MULTILINE):
        raise ProgramError(f"{program}: {lost[0]} is not found: make setup")
    found = re.findall(r"=> (/\S+)", asked.stdout)
    return sorted({Path(name) for name in found if SYSTEM.match(name)})


def spellings(library: Path) -> set[str]:
    """Names under which dpkg may know a file: below /lib or /usr/lib, and without its link."""
    names = {str(library), str(library.resolve())}
    plain = {name.removeprefix("/usr") for name in names}
    return plain | {f"/usr{name}" for name in plain}


def owners(libraries: set[Path]) -> list[str]:
    """The Debian packages that the libraries came with."""
    names = {name: library for library in libraries for name in spellings(library)}
    argv = ["dpkg-query", "--search", *sorted(names)]
    asked = subprocess.run(argv, capture_output=True, text=True, check=False)
    found: dict[Path, str] = {}
    for line in asked.stdout.splitlines():
        owner, _, name = line.rpartition(": ")
        if name in names:
            found[names[name]] = owner.split(":")[0].split(",")[0]
    if lost := sorted(libraries - set(found)):
        raise ProgramError(f"{lost[0]} belongs to no Debian package")
    return sorted(set(found.values()))


def library_packages(programs: list[str], build: Path) -> list[str]:
    loaded = {library for name in programs for library in libraries(need(name, build))}
    return owners(loaded) if loaded else []


def files_below(folder: Path, at: str) -> list[Entry]:
    found = []
    for file in sorted(folder.rglob("*")):
        if file.is_dir() or "__pycache__" in file.parts:
            continue
        mode = 0o755 if file.stat().st_mode & 0o100 else 0o644
        found.append(Entry(f"{at}/{file.relative_to(folder)}", file, mode=mode))
    return found


def cmake_install(component: str, build: Path, to: Path) -> None:
    done = subprocess.run(
        ["cmake", "--install", build, "--component", component, "--prefix", to, "--strip"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise ProgramError(f"cmake --install: {done.stderr[-1000:]}")


def installed(image: Image, build: Path, work: Path) -> list[Entry]:
    """Programs and shared files, as `cmake --install` leaves them."""
    entries = []
    for program in image.programs:
        need(program, build)
        cmake_install(program, build, work)
        entries.append(Entry(f"{PREFIX}/bin/{program}", work / "bin" / program, mode=0o755))
    if image.share:
        cmake_install("share", build, work)
    for name in image.share:
        folder = work / "share" / "swage" / name
        if not folder.is_dir():
            raise ProgramError(f"share/swage/{name} is missing: make build")
        entries += files_below(folder, f"{PREFIX}/share/swage/{name}")
    return entries


def accounts(passwd: str, group: str) -> list[Entry]:
    """The user of the image, beside those of its root."""
    user = f"swage:x:{USER}:{USER}:swage:/tmp:{NOLOGIN}\n"
    return [
        Entry("etc/passwd", ((passwd or PASSWD) + user).encode()),
        Entry("etc/group", ((group or GROUP) + f"swage:x:{USER}:\n").encode()),
    ]


def places() -> list[Entry]:
    return [Entry(f"{name}/", mode=0o1777 if name == "tmp" else 0o755) for name in MOUNTS]


def stub(library: Path) -> bytes:
    """A library with the same exported names and nothing else: what a checker of names needs."""
    listed = subprocess.run(
        ["nm", "--dynamic", "--defined-only", "--format=posix", library],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    names = sorted({line.split()[0].split("@")[0] for line in listed.stdout.splitlines()})
    text = "".join(f'.globl "{name}"\n"{name}":\n' for name in names)
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "stub.s"), Path(folder, "stub.so")
        source.write_text(text + '.section .note.GNU-stack,"",@progbits\n')
        subprocess.run(
            ["g++", "-shared", "-nostdlib", "-s", "-Wl,--build-id=none",
             f"-Wl,-soname,{library.name}", "-o", made, source],
            check=True, capture_output=True,
        )  # fmt: skip
        return made.read_bytes()


def revision() -> tuple[str, str]:
    """(commit, its time), of the source the programs were built from; '-dirty' when it differs."""

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", REPOSITORY, *arguments], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    dirty = "-dirty" if git("status", "--porcelain", "--untracked-files=no") else ""
    when = datetime.fromtimestamp(int(git("log", "-1", "--format=%ct")), UTC)
    return git("rev-parse", "HEAD") + dirty, when.strftime("%Y-%m-%dT%H:%M:%SZ")
