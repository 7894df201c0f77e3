"""What a run played by hand would have cost a model, in tokens: `python bench/byhand.py DIR`, the folder of --mind files:DIR.

Tokens by bpe-openai (o200k), pictures aside; repeated: what begins like the request before, so that a prompt cache would have it.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from os.path import commonprefix  # of characters, for once
from pathlib import Path

from bpe_openai import get_encoding

REQUEST = re.compile(r"(\d+)-(\w+)\.request\.md")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    encoding = get_encoding("o200k_base")

    def count(text: str) -> int:
        return len(encoding.encode(text))

    rows: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    before = ""
    for number, op in sorted(
        (int(found[1]), found[2]) for path in given.folder.iterdir() if (found := REQUEST.fullmatch(path.name))
    ):
        stem = f"{number:03d}-{op}"
        text = (given.folder / f"{stem}.request.md").read_text(encoding="utf-8")
        answer = next((path.read_text(encoding="utf-8") for path in sorted(given.folder.glob(f"{stem}.answer.*"))), "")
        rows[op].append((count(text), count(commonprefix([text, before])), count(answer)))  # noqa: RUF071
        before = text
    print(f"{'operator':10}{'calls':>6}{'in':>10}{'repeated':>10}{'most in':>9}{'out':>8}")
    for op, calls in (*rows.items(), ("all", [call for every in rows.values() for call in every])):
        sent, same, said = (sum(call[k] for call in calls) for k in range(3))
        print(f"{op:10}{len(calls):>6}{sent:>10,}{same / max(sent, 1):>10.0%}{max((c[0] for c in calls), default=0):>9,}{said:>8,}")


if __name__ == "__main__":
    main()
