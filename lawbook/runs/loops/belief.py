"""The loop of the protocol `belief`: memento3's, and what a program does not know is looked at before a mind is asked about it."""

from __future__ import annotations

from lawbook.core.results import RunOutcome
from lawbook.runs.loops import memento3
from lawbook.runs.session import Session


def play(session: Session) -> RunOutcome:
    """Play until the world is won, the budget is spent, or nothing admissible can act any more; see `memento3.play`.

    Without a plan to a goal the nearest frontier is gone to: a state of which a program says that it does not know whether it is
    a goal. Only where there is none is a mind asked.
    """
    while session.outcome is None:
        for member in session.list_due_members():
            memento3.reflect(session, member)
        if session.record.needs_reset:
            session.reset("the level is over")
        elif session.state.active_plan or memento3.plan(session) or plan_to_frontier(session):
            session.continue_plan()
        elif not memento3.reflect_without_plan(session):
            memento3.explore(session)
    return session.outcome


def plan_to_frontier(session: Session) -> bool:
    """Let every admissible member plan to its nearest frontier, and draw one of these plans. True: there is one."""
    if session.list_due_members():
        return False
    plans = {member: session.plan(member, frontier=True) for member in session.list_admissible_members()}
    return session.draw(plans) is not None
