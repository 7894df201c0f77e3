import sys; sys.path.insert(0, "$HERE")
from harness import *
with start_run(config(), Path("$HERE/forged-subgoal/runs"), mind=Mind([HONEST])) as (folder, s):
    print("honest ending:", play(s), s.state.n_actions)
