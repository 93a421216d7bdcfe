"""What goes over HTTP between the service and its clients: the table of operations, JSON, and errors.

Both sides derive from ``table.OPERATIONS``, so that they cannot drift apart.
"""
