"""Keeping a memory behind a service in order: what is owed, audited, mended, carried off and brought in, and shared."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from memwell._asyncify import asyncify, renamed
from memwell.errors import InvalidInput
from memwell.longterm.audit import Action, AuditReport, Rules
from memwell.records import Space, SpaceLike, as_space
from memwell.runtime.grants import Grant
from memwell.runtime.remote.connection import Connection
from memwell.runtime.remote.given import moment
from memwell.runtime.remote.refusing import refuse
from memwell.runtime.remote.sharing import RemoteShared
from memwell.runtime.remote.working import finished, number_of, result_of
from memwell.runtime.transfer import Imported, Progress
from memwell.runtime.transfer.files import named, written
from memwell.runtime.wire import running
from memwell.runtime.wire.memories import Mend
from memwell.values import check_id, shown

_EXPORTED = {"": "jsonl", ".jsonl": "jsonl", ".ndjson": "jsonl", ".md": "markdown", ".markdown": "markdown"}
"""What is written to a file by the ending of its name."""

_STEPS = 500
"""How many steps of a plan are sent at once."""


class Keeping:
    """The part of a ``RemoteMemory`` that looks after all of it, mostly by jobs of the service that are waited for."""

    _connection: Connection

    @property
    def space(self) -> Space:
        """The space of the key."""
        raise NotImplementedError

    def flush(self, progress: Callable[[int, int | None], None] | None = None) -> None:
        """Have the service do all the work that is owed, and wait for it: words, facts and vectors, those of documents too.

        ``progress`` is told how many memories or chunks are done, and of how many.
        """
        finished(self._connection, self._connection.call("settle", running.Job), progress)

    def audit(self, *, rules: Rules | None = None, progress: Callable[[int], None] | None = None) -> AuditReport:
        """Look the whole memory over for junk, duplicates, contradictions, secrets and more, with a plan to mend it.

        A service tells of a thousand problems at most, and without the texts of memories. Raises ``Unsupported`` for
        ``rules``: it has its own.
        """
        refuse(rules, "the rules of an audit", "it looks a memory over by the usual ones; leave them out")
        told = None if progress is None else _of_one(progress)
        job = finished(self._connection, self._connection.call("audit", running.Job), told)
        return result_of(job, AuditReport)

    def repair(self, actions: list[Action]) -> int:
        """Carry out a plan of an audit; how many of its steps were done. Every one can be undone."""
        steps = list(actions)
        parts = [steps[start : start + _STEPS] for start in range(0, len(steps), _STEPS)]
        return sum(self._connection.call("mend", running.Done, Mend(actions=part)).done for part in parts)

    # Files

    def export(self, path: str | Path, *, vectors: bool = False, progress: Progress | None = None) -> int:
        """Write the memory and the conversations of the key's space to a file here: ``.md`` or ``.jsonl``, by its ending.

        Returns how many things were written. The file appears whole or not at all, in the place of one that is there.
        Raises ``FileError`` when it cannot be written, ``InvalidInput`` for an ending of another format.
        """
        _check_path(path)
        ending = Path(path).suffix.lower()
        if ending not in _EXPORTED:
            raise InvalidInput(
                f"no export ends in {ending!r}; known: .jsonl (everything) and .md (the memories, to be read)"
            )
        asked = running.Export(format=_EXPORTED[ending], vectors=vectors)
        with written(path) as file:
            job = finished(self._connection, self._connection.call("export", running.Job, asked), progress)
            self._connection.download("job_file", file, id=job.id)
        return number_of(job, "written")

    def bring(
        self,
        path: str | Path,
        *,
        format: str | None = None,  # noqa: A002
        user: str | None = None,
        progress: Progress | None = None,
    ) -> Imported:
        """Send a file to the service to be taken in: memwell's own, mem0's, LangChain's, MCP's, ChatGPT's.

        It is known by its content unless named. ``user`` takes what belongs to one user of mem0's. Doing it again changes
        nothing. Raises ``FileError`` when it cannot be read, ``InvalidInput`` for an unknown format.
        """
        _check_path(path)
        source = Path(path)
        with named(source, "read"):
            if source.stat().st_size == 0:
                raise InvalidInput(f"the file {str(path)!r} is empty")
        asked = running.Import(name=source.name, format=format, user=None if user is None else check_id(user, "a user"))
        job = self._connection.upload("import", running.Job, asked, source)
        return result_of(finished(self._connection, job, progress), Imported)

    # Grants

    def grant(self, to: SpaceLike, *, write: bool = False, until: datetime | None = None) -> Grant:
        """Let another space read this memory, and add to it with ``write``; until a time, or until it is revoked.

        Raises ``InvalidInput`` for this space itself and for a time that is over.
        """
        asked = running.GiveGrant(to=list(as_space(to)), write=write, until=moment(until, "until"))
        return self._connection.call("grant", Grant, asked)

    def revoke(self, to: SpaceLike) -> bool:
        """End the grant of another space at once. Returns whether it had one."""
        asked = running.EndGrant(to=list(as_space(to)))
        return bool(self._connection.call("revoke_grant", running.Done, asked).done)

    def grants(self) -> list[Grant]:
        """Who may see this memory now, and who may add to it."""
        return self._connection.call("grants", running.GrantList).given

    def shared_with_me(self) -> list[Grant]:
        """Whose memories this space may see now."""
        return self._connection.call("grants", running.GrantList).received

    def shared(self, owner: SpaceLike) -> RemoteShared:
        """The memory of a space that was granted to this one. Raises ``NotGranted`` when it was not.

        The service asks for the grant at every call, so that it is of no more use the moment the grant ends.
        """
        return RemoteShared(self._connection, as_space(owner), self.space)

    aflush = asyncify(flush)
    aaudit = asyncify(audit)
    arepair = asyncify(repair)
    settle, asettle = renamed("settle", flush), renamed("asettle", aflush)
    mend, amend = renamed("mend", repair), renamed("amend", arepair)
    aexport = asyncify(export)
    abring = asyncify(bring)
    agrant = asyncify(grant)
    arevoke = asyncify(revoke)
    agrants = asyncify(grants)
    ashared_with_me = asyncify(shared_with_me)
    ashared = asyncify(shared)


def _of_one(progress: Callable[[int], None]) -> Callable[[int, int | None], None]:
    return lambda done, of: progress(done)


def _check_path(path: object) -> None:
    if not isinstance(path, str | Path) or not str(path).strip() or "\0" in str(path):
        raise InvalidInput(f"expected the path of a file, not {shown(path)}")


__all__ = ["Keeping"]
