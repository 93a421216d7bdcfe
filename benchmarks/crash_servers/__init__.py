"""A harness that kills writers, servers and connections and counts what is lost: ``python -m benchmarks.crash_servers``.

``sites`` starts the servers and breaks them, ``writing`` says what writers do, ``judgement`` compares what is left with
what they were told, ``running`` is the run.
"""
