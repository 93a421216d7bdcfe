"""Python imports this when it starts, where this folder is on its path."""

import strangers  # noqa: F401
