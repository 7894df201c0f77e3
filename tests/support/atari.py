"""The emulator that scripts/ale fetches, for the tests that play Atari: importing this makes it importable."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / ".tools" / "ale"

if importlib.util.find_spec("ale_py") is None:
    sys.path.append(str(FOLDER))  # a world's own process looks where we look

needs_ale = pytest.mark.skipif(importlib.util.find_spec("ale_py") is None, reason="ale-py is not installed; scripts/ale fetches it")
