"""Where the rooms below are put together and kept running."""
