"""Plays a scripted mind in the corridor `evil:plain` (1 right, 2 left, goal at column 4), protocol no-rulebook."""
import sys, os
os.environ["PYTHONPATH"] = "$HERE/worlds"; sys.path.insert(0, "$HERE/worlds")
from pathlib import Path
from lawbook.runs.lifecycle import resume_run, start_run
from lawbook.runs.loops.memento3 import play
from lawbook.runs.folder import RunConfig, RunFolder
from lawbook.core.hypothesis import Proposal, Decision
from lawbook.core.results import Probe, Subgoal, Judgement
from lawbook.core.record import Action
HONEST = '''
import numpy as np
def initial_state(o):
    f = o["frame"]; return (int(np.argwhere(f == 5)[0][1]), f.shape)
def step(s, a):
    x, shape = s
    return (min(x + 1, shape[1] - 1), shape) if a.id == 1 else (max(x - 1, 0), shape) if a.id == 2 else s
def render(s):
    f = np.zeros(s[1], np.uint8); f[0, s[0]] = 5; return f
def is_goal(s): return s[0] == s[1][1] - 1
'''
class Mind:
    name = "scripted"; proposes = True
    def __init__(self, programs, explore=None): self.programs, self.n, self.ex = programs, 0, explore; self.said = []
    def propose(self, case):
        p = self.programs[min(self.n, len(self.programs) - 1)]; self.n += 1
        self.said.append((case.trigger.value, ""))
        return Proposal(Decision.REPAIR_CODE, None, {"world_model_engine.py": p}, "d")
    def judge(self, case, h): return Judgement(True, {}, "")
    def explore(self, case): return self.ex(case) if self.ex else Probe(Action(2), "what?")
    def receipt(self): return {}
def config(**k): return RunConfig(**{"world": "evil:plain", "mind": "induce", "protocol": "no-rulebook", "budget": 20, **k})
