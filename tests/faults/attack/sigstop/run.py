"""Ctrl-Z (SIGSTOP) of the run process while it waits for its world: the answer came in time and lies in the socket, and is thrown
away: the world 'gave no answer', is killed, the action is in doubt. (limit 3 s here, 60 s in a run; world answers after 1 s)"""
import os, signal, sys, threading, time
sys.path.insert(0, "$HERE/worlds"); os.environ["PYTHONPATH"] = sys.path[0]
from lawbook.core.record import Action
from lawbook.worlds.process import WorldProcess
me = os.getpid()
with WorldProcess("evil:slow?k=99", seconds=3) as w:
    w.reset(); w.step(Action(2)); print("one step without a stop: fine")
    if os.fork() == 0:
        time.sleep(0.3); os.kill(me, signal.SIGSTOP); time.sleep(5); os.kill(me, signal.SIGCONT); os._exit(0)
    try:
        w.step(Action(2)); print("stopped for 5 s and continued: fine")
    except Exception as e:
        print(type(e).__name__, e)
