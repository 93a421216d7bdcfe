"""What memwell tests itself with, shipped so that others can test code and backends of their own with it.

``strategies`` holds hypothesis strategies for memwell's values. hypothesis is needed here and nowhere else in memwell.
"""
