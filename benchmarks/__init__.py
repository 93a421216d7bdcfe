"""Measurements of memwell beside the bare engines and beside its peers, and the harness that tries to break it.

``python -m benchmarks`` measures, ``python -m benchmarks.crash`` kills. Neither is part of the library or of its tests.
"""

import os

# Before numpy is loaded anywhere: with threads of its own a product measures the scheduler, not the work.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[_name] = "1"
