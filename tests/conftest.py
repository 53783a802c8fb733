"""What every test has in common."""

from hypothesis import settings

# A busy machine makes an example slow, which says nothing of the code.
settings.register_profile("loadsim", deadline=None)
settings.load_profile("loadsim")
