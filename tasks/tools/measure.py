"""Times the cards of teacher decks against eager and torch.compile on one core.

    python tasks/tools/measure.py tasks/builtin-cpu/mish [--card fast.cpp] [--rounds 12]

Prints the medians in milliseconds and, for each card, the ratio to both baselines with the order
statistics [q_(j), q_(n+1-j)] that a judgement uses (n = 12, j = 3), and the largest error per card
in units of the gate (given inputs, worst of the distorted ones).
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arm import Arm

HERE = Path(__file__).parent
# Before torch is loaded: no worker pool, and no page faults in timed calls (freed blocks stay).
SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": "1073741824",
    "MALLOC_TRIM_THRESHOLD_": "4294967296",
}


def interval(values: list[float]) -> tuple[float, float, float]:
    """Median, q_(j) and q_(n+1-j) with j = n / 4, at least 1: 3 of 12."""
    ordered = sorted(values)
    j = max(1, len(ordered) // 4)
    return statistics.median(ordered), ordered[j - 1], ordered[-j]


def ratio_text(times: list[float], base: list[float]) -> str:
    median, low, high = interval([a / b for a, b in zip(times, base, strict=True)])
    return f"{median:5.2f} [{low:5.2f}, {high:5.2f}]"


def measure(folder: Path, options: argparse.Namespace) -> None:
    from arm import Arm, ArmSpec
    from card_build import build, read_deck

    model = folder / "model.py"
    arms: list[Arm] = []
    try:
        for role in ("eager", "compile"):
            arms.append(Arm(ArmSpec(role, role, model, options.core, None, options.cpu_time)))
        if not options.baselines:
            deck = read_deck(folder)
            for card in options.card or sorted(set(deck.cards)):
                made = build(deck, card, options.template, options.cache)
                spec = ArmSpec(card, "candidate", model, options.core, made, options.cpu_time)
                arms.append(Arm(spec))
        run_rounds(arms, options.rounds, options.warm_up)
        report(folder.name, arms)
    finally:
        for arm in arms:
            arm.close()


def run_rounds(arms: list[Arm], rounds: int, warm_up: int) -> None:
    """Interleaves the arms in random order, every call cold and on fresh inputs."""
    order = list(arms)
    for number in range(rounds + warm_up):
        random.shuffle(order)
        for arm in order:
            spent = arm.call(number + 1)
            if number >= warm_up:
                arm.times.append(spent)


def report(task: str, arms: list[Arm]) -> None:
    eager, compiled, *cards = arms
    print(
        f"{task:10} eager {eager.median():.3f} ms, compile {compiled.median():.3f} ms,"
        f" compile/eager {ratio_text(compiled.times, eager.times)}"
    )
    for card in cards:
        errors = card.check(99)
        given, worst = errors["given"], max(errors.values())
        bad = {name: round(error, 2) for name, error in errors.items() if error >= 1}
        print(
            f"  {card.spec.name:10} {card.median():7.3f} ms"
            f"  /eager {ratio_text(card.times, eager.times)}"
            f"  /compile {ratio_text(card.times, compiled.times)}"
            f"  error {given:.0e} worst {worst:.0e}{f'  WRONG {bad}' if bad else ''}",
            flush=True,
        )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Times teacher cards against eager and compile")
    parser.add_argument("tasks", nargs="+", type=Path, help="task folders")
    parser.add_argument("--card", action="append", help="kernel file; default: all of the deck")
    parser.add_argument("--baselines", action="store_true", help="eager and compile only")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--warm-up", type=int, default=3)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--cpu-time", action="store_true", help="for a machine that others use")
    template = HERE.parent.parent / "sandbox" / "template"
    parser.add_argument("--template", type=Path, default=template)
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "swage" / "cards"
    parser.add_argument("--cache", type=Path, default=cache)
    return parser.parse_args()


def main() -> None:
    options = parse()
    os.environ.update(SETTINGS)
    if os.environ.get("SWAGE_MEASURE") != "1":
        os.environ["SWAGE_MEASURE"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    from arm import prepare_zygote

    prepare_zygote()
    for folder in options.tasks:
        measure(folder, options)


if __name__ == "__main__":
    main()
