"""The loop, top to bottom: observe, reflect, revise, compile, verify, plan or explore, act. Memento 3 on one screen."""

from __future__ import annotations

from lawbook.core.results import NoPlan, Probe
from lawbook.errors import RefusedError
from lawbook.runs.session import Session
from lawbook.runs.state import Ending


def play(session: Session) -> Ending:
    """Play until the world is won, the budget B is spent, or nothing admissible can act any more.

    H is `session.record`, h^i = (psi^i, theta^i) the members' hypotheses, pi_phi the frozen mind behind `session.ask`. Everything a
    step needs is in the session's ledger, so a run that was killed goes on here as if nothing had happened.
    """
    while session.ended is None:
        # Reflect: at the start, after any member's mismatch, at a level's completion. A predicted action asks nothing.
        for member in session.due():
            reflect(session, member)

        if session.record.needs_reset:
            session.reset("the level is over")  # counts against B like any other action

        # Act: every real step extends H (Eq. 15); the prediction is on disk first; the first mismatch stops the plan.
        elif session.state.active or plan(session):
            session.follow()

        # No plan: reflect on that once for each state of H, then let the mind name what to find out.
        elif not reflect_without_plan(session):
            explore(session)
    return session.ended


def reflect(session: Session, member: int) -> None:
    """Reflect, revise, compile, verify: until an admissible pair stands (Eq. 21) or the rounds are spent.

    d in {retain, revise_rulebook, repair_code, simplify}          (Eq. 16)
    psi~ = Delta(psi; H) under revise_rulebook, else psi           (Eq. 17)
    theta~ = C(theta, psi~, H)                                     (Eq. 18)
    accepted iff verify(theta~; H) = 1 and theta~ in [[psi~]]      (Eq. 20, 21)
    """
    while member in session.due():
        proposal = session.ask(member, "propose")
        session.propose(proposal, member)  # a refusal goes back to the mind with its reason and replaces nothing


def plan(session: Session) -> bool:
    """Every admissible member plans in its own program (Eq. 26); identical plans are one class, one class is drawn (Eq. 32, 33)."""
    plans = {member: session.plan(member) for member in session.admissible()}
    doubt = session.doubt(plans)  # policy `disagree`: one action may tell more than any plan
    if doubt is not None:
        session.probe(doubt[0].action, doubt[0].question, doubt[1])
    return doubt is not None or session.draw(plans) is not None


def reflect_without_plan(session: Session) -> bool:
    """No member sees a way to a goal. Ask each mind about that, once for each state of the record. True: something was asked."""
    asked = session.due() or session.wonder()  # due: a program failed while it was searched
    for member in asked:
        reflect(session, member)
    return bool(asked)


def explore(session: Session) -> None:
    """An intermediate target, reached by the same planner, or one probe with the question it answers."""
    member = session.explorer()
    if member is None:
        session.finish(Ending.STUCK, "Nothing admissible stands, and the actions that may go without a prediction are spent.")
        return
    answer = session.ask(member, "explore")
    try:
        if isinstance(answer, Probe):
            session.try_out(answer, member)
            return
        found = session.plan(member, answer)
        if isinstance(found, NoPlan):
            session.refuse(member, f"No way to that subgoal: {found.reason}")
        elif not found.actions:
            session.refuse(member, "That subgoal holds already; name another, or probe from here.")
        else:
            session.execute(found.actions, answer, member)
    except RefusedError as refusal:
        session.refuse(member, str(refusal))
