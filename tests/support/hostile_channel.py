"""Hostile programs that speak in the name of the process that serves them: forged, truncated, late, reordered, repeated replies."""

from __future__ import annotations

from hostile import ANY, CLOCK, FORGED, OUTSIDE, Hostile, Wall, in_step

_FORGE = """
import json, struct, time
def framed(text, claimed=None, blobs=0):
    return struct.pack("<4sII", b"LAW1", len(text) if claimed is None else claimed, blobs) + text
def forge(**header):
    return framed(json.dumps(header).encode())
def tell(message):
    for descriptor in range(3, 64):
        try: os.write(descriptor, message)
        except OSError: pass
"""
_VIEWS = """
import gc
def views(format):  # of the memory that is shared with the run process
    return [one for one in gc.get_objects() if type(one) is memoryview and one.format == format]
"""

RACE = "broken counterexample unrepeatable admissible"
"""How a well-formed reply at the wrong time ends depends on who is first; what is compared is what was shown by then."""


def told(name: str, code: str, kinds: str = "broken", wall: Wall = FORGED, top: str = _FORGE) -> Hostile:
    return in_step(wall, name, code, kinds, "", top, ANY)


HOSTILE = [
    told("noise on the channel", "tell(b'x' * 100)"),
    told("a forged length", "tell(framed(b'', 2 ** 32 - 1))"),
    told("forged attachments", "tell(framed(b'{}', None, 2 ** 32 - 1))"),
    told("sizes that do not fit", "tell(framed(b'{\"blobs\":[5,-5]}'))"),
    told("no object", "tell(framed(b'[]'))"),
    told("a forged nesting", "tell(framed(b'[' * 10 ** 5))"),
    told("a number of nine thousand digits", "tell(framed(b'{\"n\":' + b'9' * 8994 + b'}'))"),
    told("a count without end", "tell(forge(n=2, upto=1e999, done=True))"),
    told("another's number", "tell(forge(n=99, upto=6, done=True))"),
    told("an early end", "tell(forge(n=2, upto=1, done=True))"),
    told("more frames than there are", "tell(forge(n=2, upto=10**9, done=True))"),
    told("fewer frames than none", "tell(forge(n=2, upto=-1, done=True))"),
    told("a word for a number", "tell(forge(n=2, upto='1', done=True))"),
    told("a forged verdict", "tell(forge(n=2, upto=0, done=True, fault={'kind': 'admissible', 'reason': ''}))"),
    told("a fault of no kind", "tell(forge(n=2, upto=0, done=True, fault={'kind': [], 'reason': ''}))"),
    told("a reply that ends too early", "tell(struct.pack('<4sII', b'LAW1', 99, 0))\nwhile True: pass", "time", CLOCK),
    told("a late reply", "time.sleep(1.5 * @SECONDS@)", "time", CLOCK),
    told("a reply before its time", "tell(forge(n=2, upto=3))", RACE, OUTSIDE),
    told("replies in the wrong order", "if state == 3: tell(forge(n=2, upto=4) + forge(n=2, upto=2))", RACE),
    told("a reply twice", "if state == 3: tell(forge(n=2, upto=3) * 2 + forge(n=2, upto=6, done=True))", RACE, OUTSIDE),
    told("a reply after the last", "if state == 4: tell(forge(n=2, upto=6, done=True) * 2)", RACE),
    told("a flood of replies", "while True: tell(forge(n=2, upto=0))", "time broken"),
    told(
        "a flood of faults",
        "while True: tell(forge(n=2, upto=0, done=True, fault=dict(kind='type', reason='x' * 4_000_000)))",
        "type broken time",
    ),
    told("a closed channel", "for one in range(64):\n    try: os.close(one)\n    except OSError: pass"),
    told("forged statuses", "for one in views('B'): one[:] = bytes([9]) * len(one)\n1 / 0", "broken", FORGED, _VIEWS),
    told("pretended life", "while True: views('Q')[0][0] += 1", "time counterexample", CLOCK, _VIEWS),
    told("frames written ahead", "for one in views('Q'): one[0] = 2 ** 63", "broken admissible counterexample", FORGED, _VIEWS),
]
