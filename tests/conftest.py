"""What every test has in common."""

import os

from hypothesis import settings

# A busy machine makes an example slow, which says nothing of the code. Every run tries the same examples, so that what
# fails is what was changed; HYPOTHESIS_PROFILE=search looks for others.
settings.register_profile("loadsim", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "loadsim"))
