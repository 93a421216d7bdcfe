"""The reader of facts: how its weights are made. See README.md."""
