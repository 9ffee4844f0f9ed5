"""What Hugging Face's own libraries make of files that swage wrote. Run by reference_test.

`reference.py tokens TOKENIZER TEXTS` prints the ids of each text (a JSON list of strings) as JSON.
`reference.py logits IDS FOLDER…` runs each model folder on the ids (a JSON list), and writes its
logits as raw float32 to FOLDER/logits.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def tokens(tokenizer: str, texts: str) -> None:
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_file(tokenizer)
    encoded = [
        loaded.encode(text, add_special_tokens=False).ids
        for text in json.loads(Path(texts).read_text())
    ]
    json.dump(encoded, sys.stdout)


def logits(ids: str, folders: list[str]) -> None:
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    batch = torch.tensor([json.loads(ids)])
    for folder in folders:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        with torch.no_grad():
            out = model(batch).logits[0].float().contiguous()
        (Path(folder) / "logits").write_bytes(out.numpy().tobytes())


def main() -> None:
    command, *rest = sys.argv[1:]
    if command == "tokens":
        tokens(rest[0], rest[1])
    else:
        logits(rest[0], rest[1:])


if __name__ == "__main__":
    main()
