"""A mind whose every text is meant to break whoever shows it: a terminal, a page, a parser of rules."""

from __future__ import annotations

from lakes import NO_HOLES, TRUE
from minds import Scripted

from lawbook.core.hypothesis import ENGINE, Hypothesis, Proposal
from lawbook.core.record import Action
from lawbook.core.results import Probe
from lawbook.minds.base import Case

EVIL = "[/red][bold]\x1b[2J\x1b]0;owned\x07<script>alert(1)</script>\u202egnirts\u2066 &amp; </style> ]]> \ud800 \x00"
DOWN = Action(2)


class Evil(Scripted):
    """Says EVIL in everything."""

    def propose(self, case: Case) -> Proposal:
        proposal = super().propose(case)
        return Proposal(proposal.decision, proposal.rulebook, proposal.files, f"because {EVIL}")


def evil(more: str = "") -> Evil:
    """more: text that its rulebook and its program hold besides, on one line."""
    wrong, right = (
        Hypothesis(
            f"{h.rulebook}\nQ8 Is it {EVIL}{more}?\n",
            {ENGINE: f"{h.files[ENGINE]}\n# <script>alert(2)</script> [/red] \u202e {more}\n"},
        )
        for h in (NO_HOLES, TRUE)
    )
    return Evil([wrong, right], [Probe(DOWN, f"what is {EVIL}?")])
