"""loadsim: a load generator and simulator for voice agents on a llama-server."""

__version__ = "0.1.0"
