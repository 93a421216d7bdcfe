"""Rooms for programs written against another library: its names, its arguments, its results, over our core."""
