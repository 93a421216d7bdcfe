"""A harness that kills writers and counts what is lost: ``python -m benchmarks.crash``.

``operations`` says what writers do, ``children`` forks and kills them, ``judgement`` compares what is left with the
in-memory reference, ``contention`` lets many write at once.
"""
