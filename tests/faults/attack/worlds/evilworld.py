"""Odd worlds: evil:NAME?k=STEP. A 5x5 corridor otherwise; action 1 right, 2 left; goal at column 4."""
import os, time, signal, sys
import numpy as np
from lawbook.core.record import Observation, Status
from lawbook.worlds.world import WorldSpec

class World:
    def __init__(self, name, o):
        self.name, self.k = name, int(o.get("k", 3))
        h, w = int(o.get("h", 5)), int(o.get("w", 5))
        n = int(o.get("n", 2))
        acts = tuple(range(1, n + 1))
        if name == "bigids": acts = (1, 2, 10**9)
        levels = 1
        if name == "levels": levels = int(o.get("levels", 10**8))
        self.spec = WorldSpec(shape=(h, w), actions=acts, levels=levels, baselines=None,
            baseline={"base": "\x1b[31m<b>x</b>"}.get(name, "optimal"), palette={"pal": "<script>"}.get(name, "arc"))
        self.h, self.w = h, w
        self.x = 0; self.steps = 0
    def obs(self, status=Status.RUNNING, level=0, avail=None):
        f = np.zeros((self.h, self.w), np.uint8); f[0, self.x] = 5
        frames = (f,)
        if self.name == "anim": frames = tuple([f] * int(os.environ.get("N", 2000)))
        return Observation(frames, status, level, self.spec.actions if avail is None else avail)
    def reset(self):
        self.x = 0
        return self.obs()
    def step(self, a):
        self.steps += 1
        if self.name == "slow": time.sleep(1)
        if self.steps == self.k:
            n = self.name
            if n == "raise": raise RuntimeError("\x1b]0;title\x07 boom <script>alert(1)</script> \u202e\udcff" )
            if n == "hang": time.sleep(1e6)
            if n == "kill": os.kill(os.getpid(), 9)
            if n == "stop": os.kill(os.getpid(), signal.SIGSTOP)
            if n == "exit": os._exit(0)
            if n == "nan":
                f = np.full((self.h, self.w), np.nan); return Observation((f,), Status.RUNNING, 0, self.spec.actions)
            if n == "noframes": return Observation((), Status.RUNNING, 0, self.spec.actions)
            if n == "none": return None
            if n == "noactions": return self.obs(avail=())
            if n == "truncreset": return self.obs(Status.TRUNCATED)
            if n == "shape": self.h += 1; return self.obs()
            if n == "print": sys.stdout.write("x" * (64 << 20)); sys.stdout.flush()
            if n == "daemon":
                if os.fork() == 0:
                    os.setsid(); open("daemon.pid", "w").write(str(os.getpid())); time.sleep(60); os._exit(0)
            if n == "sysexit": raise SystemExit(0)
            if n == "kbd": raise KeyboardInterrupt
            if n == "surr": raise ValueError("\udcff\udcfe")
            if n == "hugelevel": return self.obs(Status.COMPLETED, level=10**30)
        if self.name == "noactions" and self.steps > self.k: return self.obs(avail=())
        if self.name == "changing":
            self.x = (self.x + 1) % self.w if a.id == 1 else max(self.x - 1, 0)
            return self.obs(avail=(1,) if self.steps % 2 else (2,))
        self.x = min(self.x + 1, self.w - 1) if a.id == 1 else max(self.x - 1, 0) if a.id == 2 else self.x
        if self.x == self.w - 1 and self.name not in ("noactions", "never"): return self.obs(Status.COMPLETED, 1)
        return self.obs()
    def close(self): pass

class _S:
    summary = "odd worlds"
    def names(self): return [("raise?k=3", "x")]
    def make(self, name, options): return World(name, dict(options))
Source = _S()
