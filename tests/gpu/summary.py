"""Prints the verdicts of one part's log, a few lines each. usage: summary.py LOG"""

import json
import sys
from pathlib import Path
from typing import Any


def verdicts(text: str) -> list[dict[str, Any]]:
    """Every JSON object of the log that has a code."""
    found, decoder, at = [], json.JSONDecoder(), text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except ValueError:
            end = at + 1
        else:
            if isinstance(value, dict) and "code" in value:
                found.append(value)
        at = text.find("{", end)
    return found


def show(verdict: dict[str, Any]) -> None:
    """One verdict."""
    print(f"{verdict['code']} tier {verdict.get('tier')}: {verdict.get('detail', '')}"[:600])
    timing = verdict.get("timing")
    if timing:
        for arm in ("eager", "compile", "candidate"):
            print(f"  {arm:10} {timing.get(arm)}")
        keys = ("q_eager", "q_compile", "offset_us", "rounds", "looks", "voided")
        print("  " + ", ".join(f"{key} {timing.get(key)}" for key in keys))
    print(f"  {verdict.get('phase_ms')} lease {verdict.get('lease_ms')} {verdict.get('trust')}")
    print(f"  {verdict.get('device')} checks {len(verdict.get('checks', []))}")
    if verdict["code"] != "ok":
        print(f"  log: {verdict.get('log', '')[-1500:]}")
        print(f"  diagnostics: {verdict.get('diagnostics', '')[:600]}")


def main() -> int:
    """Shows all, or the log's end where there is none."""
    text = Path(sys.argv[1]).read_text(errors="replace")
    found = verdicts(text)
    for verdict in found:
        show(verdict)
    if not found:
        print(text[-2500:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
