"""A program that fails only while it is searched, with a fault of kind `subgoal` (the harness's own exception, found by frames):
nobody asked for a subgoal, and yet `session.plan` says so - and the loop ends instead of falsifying the program."""
import sys; sys.path.insert(0, "$HERE")
from harness import *
EVIL = HONEST + '''
import sys
_goal = is_goal
def is_goal(s):
    f = sys._getframe()
    names = []
    while f is not None:
        if f.f_code.co_name == "_search": 
            g = f
            while g is not None and "describe_error" not in g.f_globals: g = g.f_back
            raise g.f_globals["describe_error"].__globals__["SubgoalError"]() from ValueError("not me")
        f = f.f_back
    return _goal(s)
'''
m = Mind([EVIL, HONEST])
try:
    with start_run(config(), Path("$HERE/forged-subgoal/runs"), mind=m) as (folder, s):
        p = folder
        print("ending:", play(s))
except BaseException as e:
    print("play raised", type(e).__name__, e)
print("asked:", m.said)
for k in range(2):
    try:
        with resume_run(p, mind=Mind([HONEST])) as s:
            print("resumed:", play(s), s.state.n_actions)
            break
    except BaseException as e: print("resume", k, "raised", type(e).__name__, str(e)[:200])
