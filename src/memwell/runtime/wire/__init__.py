"""What goes over the wire between the service and its clients: shapes, routes, and how errors are told.

Both sides import these, so that they cannot drift apart: ``routes.ROUTES`` is the one list of what the service can do.
"""

__all__: list[str] = []
