"""Test suites and hypothesis strategies, shipped for backends and programs of your own.

``conformance`` holds the suites that a backend must pass. ``strategies``, ``questions`` and ``operations`` are hypothesis
strategies for memwell's values, for searches and for calls; ``machine`` drives a store beside the reference, ``child`` in a
process that can be killed. pytest and hypothesis are needed here and nowhere else in memwell.
"""
