"""A server of our own with a known schedule: what a client measures is held against what the server really wrote."""

from .faults import Faults
from .http import Request
from .job import Entry
from .schedule import Schedule
from .server import Options, Truth, serve

__all__ = ["Entry", "Faults", "Options", "Request", "Schedule", "Truth", "serve"]
