"""`certified shortest` said of a plan that is not: the state's own __eq__/__hash__ (or a dataclass field with compare=False) folds
states exactly as `key` would - and `key` is documented to forfeit the certificate."""
import numpy as np
from lawbook.sandbox.host import Host
from lawbook.core.results import Limits
from lawbook.planning.planner import find_plan
from lawbook.core.record import Observation, Status, Trajectory, Action
PROGRAM = '''
from dataclasses import dataclass, field
import numpy as np
@dataclass(frozen=True)
class S:
    x: int
    key: bool = field(default=False, compare=False)   # a slip: what is carried does not count as state
# action 1: right. action 2: pick the key up at x=0 (stays at x=0). goal: x=1 with the key; or x=6 without it
def initial_state(o): return S(0)
def step(s, a):
    if a.id == 2 and s.x == 0: return S(0, True)
    return S(s.x + 1, s.key) if a.id == 1 else s
def render(s): return np.zeros((1, 8), np.uint8)
def is_goal(s): return s.x == 6 or (s.x == 1 and s.key)
'''
with Host() as host:
    program = host.load({"world_model_engine.py": PROGRAM})
    here = Trajectory(Observation((np.zeros((1, 8), np.uint8),), Status.RUNNING, 0, (1, 2)))
    plan = find_plan(program, here, Limits(depth=50))
    print("found", [a.id for a in plan.actions], "certified:", plan.certified, "method", plan.method)
    from lawbook.planning.planner import roll
    print("two actions [2, 1] reach the goal too:", roll(program, here, [Action(2), Action(1)])[1])
