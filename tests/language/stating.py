"""What a text states, written so that a table of sentences can be read."""

from __future__ import annotations

from datetime import datetime

from memwell.language.claims import Reader, claims


def stated(text: str, time: datetime, preceding: str = "", reader: Reader | None = None) -> str:
    """Each claim as ``subject relation object``, with ``-`` before what is denied and ``~`` before what is over."""
    found = set[str]()
    for one in claims(text, time=time, preceding=(preceding, time) if preceding else None, reader=reader):
        mark = "-" if one.negated else "~" if one.valid_to is not None and one.valid_to <= time else ""
        found.add(f"{mark}{one.subject} {one.relation} {one.object}")
    return "; ".join(sorted(found))
