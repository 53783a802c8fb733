"""`python -m loadsim` is the command."""

from .cli import main

main()
