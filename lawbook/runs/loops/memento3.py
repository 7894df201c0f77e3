"""The loop, top to bottom: observe, reflect, revise, compile, verify, plan or explore, act. Memento 3 on one screen."""

from __future__ import annotations

from lawbook.core.results import NoPlan, Probe, RunOutcome
from lawbook.errors import RefusedError
from lawbook.runs.session import Session


def play(session: Session) -> RunOutcome:
    """Play until the world is won, the budget B is spent, or nothing admissible can act any more.

    H is `session.record`, h^i = (psi^i, theta^i) the members' hypotheses, pi_phi the frozen mind behind `session.ask`. Everything a
    step needs is in the session's ledger, so a run that was killed goes on here as if nothing had happened.
    """
    while session.outcome is None:
        # Reflect: at the start, after any member's mismatch, at a level's completion. A predicted action asks nothing.
        for member in session.list_due_members():
            reflect(session, member)

        if session.record.needs_reset:
            session.reset("the level is over")  # counts against B like any other action

        # Act: every real step extends H (Eq. 15); the prediction is on disk first; the first mismatch stops the plan.
        elif session.state.active_plan or plan(session):
            session.continue_plan()

        # No plan: reflect on that once for each state of H, then let the mind name what to find out.
        elif not reflect_without_plan(session):
            explore(session)
    return session.outcome


def reflect(session: Session, member: int) -> None:
    """Reflect, revise, compile, verify: until an admissible pair stands (Eq. 21) or the rounds are spent.

    d in {retain, revise_rulebook, repair_code, simplify}          (Eq. 16)
    psi~ = Delta(psi; H) under revise_rulebook, else psi           (Eq. 17)
    theta~ = C(theta, psi~, H)                                     (Eq. 18)
    accepted iff verify(theta~; H) = 1 and theta~ in [[psi~]]      (Eq. 20, 21)
    """
    while member in session.list_due_members():
        proposal = session.call_mind(member, "propose")
        session.propose(proposal, member)  # a refusal goes back to the mind with its reason and replaces nothing


def plan(session: Session) -> bool:
    """Plan with every admissible member in its own program (Eq. 26); identical plans are one class, one is drawn (Eq. 32, 33)."""
    plans = {member: session.plan(member) for member in session.list_admissible_members()}
    disagreement_probe = session.find_disagreement_probe(plans)  # policy `disagree`: one action may tell more than any plan
    if disagreement_probe is not None:
        session.probe(disagreement_probe[0].action, disagreement_probe[0].question, disagreement_probe[1])
    return disagreement_probe is not None or session.draw(plans) is not None


def reflect_without_plan(session: Session) -> bool:
    """Ask each mind about there being no way to a goal, once for each state of the record. True: something was asked."""
    members = session.list_due_members() or session.mark_members_without_plan()  # due: a program failed while it was searched
    for member in members:
        reflect(session, member)
    return bool(members)


def explore(session: Session) -> None:
    """Explore: an intermediate target, reached by the same planner, or one probe with the question it answers."""
    member = session.pick_explorer()
    if member is None:
        session.finish(RunOutcome.STUCK, "Nothing admissible stands, and the actions that may go without a prediction are spent.")
        return
    exploration = session.call_mind(member, "explore")
    try:
        if isinstance(exploration, Probe):
            session.send_exploration(exploration, member)
            return
        result = session.plan(member, exploration)
        if isinstance(result, NoPlan):
            session.refuse_exploration(member, f"No way to that subgoal: {result.reason}")
        elif not result.actions:
            session.refuse_exploration(member, "That subgoal holds already; name another, or probe from here.")
        else:
            session.execute(result.actions, exploration, member)
    except RefusedError as refusal:
        session.refuse_exploration(member, str(refusal))
