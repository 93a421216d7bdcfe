"""What is known: records remembered for good, and how the ones that matter are found again."""
