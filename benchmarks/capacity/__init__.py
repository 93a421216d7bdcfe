"""What a record and a question cost on each engine, at several sizes: see docs/capacity.md."""
