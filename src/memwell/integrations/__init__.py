"""Adapters to installed frameworks: true subclasses of their own base classes, over memwell's stores.

Each room needs the package that it adapts to; importing a room without it raises an error that says what to install.
"""
