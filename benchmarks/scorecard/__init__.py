"""What memwell must not lose or let happen, tried in 22 ways: ``python -m benchmarks.scorecard``.

``keeping`` has the rows about stores, ``attacking`` those about the service and about poison, ``trying`` what they share.
"""
