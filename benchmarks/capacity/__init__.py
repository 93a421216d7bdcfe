"""What a record and a question cost on each engine, at several sizes: the ground of ``memwell.runtime.capacity``."""
