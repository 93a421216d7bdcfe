"""The version, for those who may not ask the front door."""

VERSION = "0.1.0"
