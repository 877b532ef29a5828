"""Talk to a troupe by envelopes. Standard library only."""
from .client import Task, TaskEvent, TroupeClient, TroupeRefusal, is_final

__all__ = ["Task", "TaskEvent", "TroupeClient", "TroupeRefusal", "is_final"]
