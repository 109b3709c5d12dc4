"""The table of what a conversation can be about: a new subject is a module and a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.loops.jobs import JOBS
from bot.subjects.batches import Batches
from bot.subjects.cancellation.subject import Cancellation
from bot.subjects.certificate import Certificate
from bot.subjects.handover import Handover
from bot.subjects.invoice.subject import Invoice
from bot.subjects.note_mail import NoteMail
from bot.subjects.proposal import Proposal
from bot.subjects.strangers import Strangers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bot.conversation.subject import Resources, RowHandler, Subject
    from bot.loops.jobs import Job
    from bot.loops.worker import Handler

# Asked in this order, turn by turn; the last one takes what nobody else took.
SUBJECTS: tuple[type[Subject], ...] = (
    Handover,
    Strangers,
    Certificate,
    Batches,
    NoteMail,
    Cancellation,
    Proposal,
    Invoice,
)


def open_subjects(resources: Resources) -> tuple[Subject, ...]:
    """Return one of each subject, in the order of the table."""
    return tuple(subject(resources) for subject in SUBJECTS)


def jobs() -> tuple[Job, ...]:
    """Return all periodic jobs: the subjects' deadlines, and ``JOBS``, which are no subject's."""
    return (*(deadline.job() for subject in SUBJECTS for deadline in subject.deadlines), *JOBS)


def handlers_of(subjects: Sequence[Subject], others: Iterable[RowHandler]) -> dict[str, Handler]:
    """Return the worker's handlers by kind of row: those of the subjects, and ``others``, which are no subject's.

    Raises ``ValueError`` for a kind with two handlers.
    """
    found: dict[str, Handler] = {}
    for each in (*(handler for subject in subjects for handler in subject.handlers()), *others):
        if each.kind.tipo in found:
            raise ValueError(f"two handlers for rows of kind {each.kind.tipo}")
        found[each.kind.tipo] = each.handle
    return found
