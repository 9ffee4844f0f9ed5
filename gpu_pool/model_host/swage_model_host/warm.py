"""What the zygote does once, so that no host has to: imports and the vector-instruction probe."""

import contextlib
import hashlib
import os
import subprocess
from pathlib import Path


def up(cache: str) -> dict[str, str]:
    """Imports torch and its compiler and settles the instruction set. Returns versions."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(Path(cache) / "inductor")
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    os.environ["TRITON_CACHE_DIR"] = str(Path(cache) / "inductor" / "triton")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    # Whether there is a GPU may be asked before the fork, but not of CUDA itself.
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    os.environ["HOME"] = "/tmp"
    import torch
    import torch._dynamo
    import torch._inductor.compile_fx
    from torch._inductor import cpu_vec_isa

    # The probe compiles a file and starts an interpreter for each instruction set: 10-30 s, hence
    # once per compiler, processor and torch. The file holds the sets that passed.
    stamp = Path(cache) / f"isa-{_machine(torch.__version__)}"
    if stamp.exists():
        passed = stamp.read_text().splitlines()
        cpu_vec_isa.VecISA.check_build = lambda self, _code: str(self) in passed  # type: ignore
    else:
        stamp.write_text("\n".join(str(isa) for isa in cpu_vec_isa.valid_vec_isa_list()))
    chosen = str(cpu_vec_isa.pick_vec_isa())
    return {"torch": torch.__version__, "isa": chosen}


def _machine(torch_version: str) -> str:
    """A name for the pair of compiler and processor."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        flags = next((line for line in lines if line.startswith("flags")), "")
        compiler = subprocess.run(
            ["g++", "--version"], check=False, capture_output=True, text=True
        ).stdout
        text = "\n".join((torch_version, flags, compiler))
        return hashlib.sha256(text.encode()).hexdigest()[:16]
    return "unknown"
