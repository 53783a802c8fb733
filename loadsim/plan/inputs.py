"""What `plan memory` computed, as the answer's page takes it."""

from .answer import Memory
from .command import Keeps
from .memory import Plan


def from_header(plan: Plan) -> Memory:
    """A model's memory. The command names the file of a URL, which is to be fetched first."""
    fit, place = plan.fit, plan.files[0]
    return Memory(
        model=plan.model,
        file=place.split("?")[0].rsplit("/", 1)[-1] if "://" in place else place,
        settings=plan.settings,
        keeps=Keeps(
            state=bool(plan.shape.states),
            window=bool(plan.shape.windowed),
            swa_full=plan.swa_full and bool(plan.shape.windowed),
            checkpoint=plan.host.checkpoint,
        ),
        weights=plan.on_card,
        slot=plan.slots.bytes // plan.slots.slots,
        total=plan.total,
        card=fit.card.name if fit else None,
        room=fit.card.memory if fit else None,
        reserve=fit.reserve if fit else 0,
        fits=fit.slots if fit else None,
        guessed=plan.shape.estimated,
    )
