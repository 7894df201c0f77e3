"""A run of 4 actions whose mind proposed three programs just below the gate's limit: how long do report and history --full take?"""
import sys, random, subprocess, time, glob, shutil, os; sys.path.insert(0, "$HERE")
from harness import *
os.chdir("$HERE/diff-hang"); shutil.rmtree("runs", ignore_errors=True)
def noise(seed, n=190_000):
    l = [f"x={k % 101}" for k in range(n)]; random.Random(seed).shuffle(l); return "\n".join(l) + "\n"
t = time.time()
m = Mind([noise(1) + HONEST.replace("min(x + 1, shape[1] - 1)", "x"), noise(2) + HONEST.replace("return s[0] == s[1][1] - 1", "return False"), noise(3) + HONEST], lambda c: Probe(Action(1), "?"))
with start_run(config(), Path("runs"), mind=m) as (f, s):
    print(play(s), s.state.n_actions, "proposals", m.n, round(time.time() - t, 1), "s to play", flush=True)
run = glob.glob("runs/*")[0]
for cmd in (["show", run], ["report", run], ["history", run, "--full"]):
    t = time.time()
    try: rc = subprocess.run(["lawbook", *cmd], capture_output=True, timeout=100).returncode
    except subprocess.TimeoutExpired: rc = "still running"
    print(cmd[0], rc, round(time.time() - t, 1), "s", flush=True)
