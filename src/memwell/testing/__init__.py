"""Test suites and hypothesis strategies, shipped for backends and programs of your own.

``conformance`` holds the suites that a backend must pass; its ``congruence`` makes the same calls to a store and to the
reference, also in a process that it kills. ``strategies`` has hypothesis strategies for memwell's values, searches and
calls. pytest and hypothesis are needed here and nowhere else in memwell.
"""
