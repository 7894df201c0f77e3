"""Two programs within the gate's limit of 1 MB whose line diff takes for ever: `history --full`, `report`, and the report at every run's end."""
import random, time
from lawbook.view.rulebook_diff import diff_hypotheses
from lawbook.core.hypothesis import Hypothesis, ENGINE
def text(n, seed):
    lines = [f"x={k % 101}" for k in range(n)]; random.Random(seed).shuffle(lines); return "\n".join(lines)   # each line just not `popular`
for n in (2000, 4000, 8000, 16000, 32000):
    a, b = text(n, 1), text(n, 2)
    t = time.time(); diff_hypotheses(Hypothesis("", {ENGINE: a}), Hypothesis("", {ENGINE: b})); t = time.time() - t
    print(n, "lines,", len(a), "bytes:", round(t, 2), "s", flush=True)
    if t > 25: break
