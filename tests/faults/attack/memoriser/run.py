"""A mind that only learns the record by heart (frames by prefix of actions): does the gate let it act, and does the product say so?"""
import sys, subprocess, glob, shutil, os; sys.path.insert(0, "$HERE")
from harness import *
os.chdir("$HERE/memoriser"); shutil.rmtree("runs", ignore_errors=True)
class M(Mind):
    def propose(self, case):
        self.n += 1; table = {}
        for t in case.record:
            for k in range(len(t) + 1):
                table[(t.first.level, tuple(tuple(a) for a in t.actions[:k]))] = (t.get_frame(k).tobytes(), t.statuses[k].value)
        text = f"import numpy as np\nT = {table!r}\n" + '''
def initial_state(o): return (o["level"], (), o["frame"].tobytes(), o["frame"].shape)
def step(s, a): return (s[0], s[1] + (tuple(a),), s[2], s[3])
def look(s): return T.get((s[0], s[1]), (s[2], "running"))
def render(s): return np.frombuffer(look(s)[0], np.uint8).reshape(s[3])
def is_goal(s): return look(s)[1] == "completed"
def is_over(s): return look(s)[1] == "over"
'''
        return Proposal(Decision.REVISE_RULEBOOK, f"R1. The table says what comes (edition {self.n}).", {"world_model_engine.py": text + "# R1\n"}, "learnt by heart")
    def judge(self, case, h): return Judgement(True, {"R1": "here"}, "")
import random
m = M([], None); m.ex = lambda case: Probe(Action(random.Random(case.call if hasattr(case, "call") else m.n).choice((1, 1, 1, 2))), "what?")
with start_run(config(world="evil:never?w=9", protocol="memento3", budget=30), Path("runs"), mind=m) as (f, s):
    print(play(s), "actions", s.state.n_actions, "mismatches", s.state.n_mismatches)
run = glob.glob("runs/*")[0]; L = "lawbook"
print(subprocess.run([L, "show", run], capture_output=True, text=True).stdout)
a = subprocess.run([L, "audit", run], capture_output=True, text=True).stdout
print(a.strip().splitlines()[-1], "| says heart/memoris/table:", [w for w in ("heart", "memor", "table") if w in a])
