"""Client for a troupe's envelopes. Standard library only."""
from .canonical import canonical
from .client import TroupeClient, is_final, waits_for_input
from .connection import TroupeRefusal
from .types import Task, TaskEvent

__all__ = [
    "Task",
    "TaskEvent",
    "TroupeClient",
    "TroupeRefusal",
    "canonical",
    "is_final",
    "waits_for_input",
]
