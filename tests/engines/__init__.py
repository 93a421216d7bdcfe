"""Real servers for tests, from packages, on free ports of this machine."""
