"""The protocol between the service and its clients: the table of operations, JSON, and errors.

Both sides derive from ``table.OPERATIONS``.
"""
