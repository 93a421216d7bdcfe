"""``python -m benchmarks.tenants``: what one tenant's worst file or request costs another tenant and the service.

A service runs in a process of its own, on this machine alone. Mallory sends one hostile file or request after the other;
meanwhile Ann recalls, remembers and looks whether the service lives. Each attack alternates with as long a time without
it, in which the machine does the same other work. For both the slowest of Ann's requests is measured; the difference is
what the attack costs her. Nothing is attacked but the service it starts.
"""

from __future__ import annotations

import argparse
import http.client
import io
import json
import socket
import struct
import tempfile
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import RESULTS, console, facts, today
from benchmarks.service.serving import Served, make_key

_WORD = b"lorem ipsum dolor sit amet consectetur "
_PATIENCE_S = 150.0
Attack = Callable[["Line"], str]
Slowest = dict[str, float]


class Line:
    """Requests of one tenant."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token

    def ask(self, method: str, path: str, body: bytes | Any = None, kind: str = "") -> tuple[int, Any]:
        """One request over a connection of its own; its status and its JSON."""
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json, text/event-stream"}
        if sent is not None:
            headers["Content-Type"] = kind or "application/json"
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE_S)
        try:
            line.request(method, path, sent, headers)
            answer = line.getresponse()
            said = answer.read()
            return answer.status, json.loads(said) if said else None
        finally:
            line.close()

    def job(self, path: str, data: bytes) -> str:
        """Upload a file, and wait for the end of its job."""
        status, job = self.ask("POST", path, data, "application/octet-stream")
        while status == 202 and job["status"] in ("waiting", "running"):
            time.sleep(0.1)
            _, job = self.ask("GET", f"/v1/jobs/{job['id']}")
            status = 202
        problems = (job.get("result") or {}).get("problems")
        return problems[0]["reason"][:120] if problems else _said(job.get("problem") or job)


def _said(problem: dict[str, Any]) -> str:
    warnings = problem.get("warnings") or ()
    return str(problem.get("detail") or (warnings[0] if warnings else problem.get("status", "stored")))[:120]


# The files


def png(width: int, height: int) -> bytes:
    """A picture of a few bytes that claims any size."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def pdf(megabytes: int) -> bytes:
    """A page whose text unpacks to so many megabytes."""
    line = b"(" + _WORD * 20 + b") Tj T* "
    stream = zlib.compress(b"BT /F1 1 Tf 1 TL " + line * (megabytes * 1_000_000 // len(line)) + b"ET", 9)
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Filter /FlateDecode /Length %d >>\nstream\n" % len(stream) + stream + b"\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.4\n", list[int]()
    for number, part in enumerate(parts, 1):
        places.append(len(out))
        out += b"%d 0 obj\n" % number + part + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return (
        out
        + b"xref\n0 6\n0000000000 65535 f \n"
        + table
        + b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n" % len(out)
    )


def docx(megabytes: int) -> bytes:
    """A Word file that unpacks to so many megabytes."""
    out, piece = io.BytesIO(), b"<w:p><w:r><w:t>" + _WORD * 4 + b"</w:t></w:r></w:p>"
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        body = piece * (megabytes * 1_000_000 // len(piece))
        archive.writestr("word/document.xml", b"<w:document><w:body>" + body + b"</w:body></w:document>")
    return out.getvalue()


def mem0(leaves: bytes) -> bytes:
    """A file of mem0 with one memory that has these in its metadata."""
    return b'[{"memory": "x", "metadata": {"a": [%b[]]}}]' % leaves


def export(leaves: bytes) -> bytes:
    """An export of memwell with one value of these."""
    header = b'{"type":"header","format":"memwell","version":1,"time":"2026-01-01T00:00:00Z"}\n'
    return header + b'{"type":"value","key":"a","value":[%b[]]}\n{"type":"end","lines":1}\n' % leaves


def text(megabytes: int) -> bytes:
    """An honest text."""
    paragraph = _WORD * 8 + b"\n\n"
    return paragraph * (megabytes * 1_000_000 // len(paragraph))


# The attacks


def _medium(data: bytes) -> Attack:
    return lambda line: _said(line.ask("POST", "/v1/media?description=x", data, "application/octet-stream")[1])


def _document(name: str, data: bytes) -> Attack:
    return lambda line: line.job(f"/v1/documents/upload?name={name}", data)


def _file(name: str, data: bytes) -> Attack:
    return lambda line: line.job(f"/v1/imports?name={name}", data)


def _request(path: str, body: Any) -> Attack:
    # Encoded before it is measured: that would keep the victim in this process waiting, not the one in the service.
    sent = json.dumps(body).encode()
    return lambda line: _said(line.ask("POST", path, sent)[1])


def _drip(line: Line) -> str:
    """540 uploads that send a byte and wait."""
    head = (
        f"POST /v1/documents/upload?name=a.txt HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {line.token}\r\n"
        "Content-Length: 1000\r\n\r\nx"
    )
    held = [socket.create_connection(("127.0.0.1", line.port)) for _ in range(540)]
    for one in held:
        one.sendall(head.encode())
    time.sleep(5)
    refused = 0
    for one in held:
        one.setblocking(False)
        with suppress(BlockingIOError):
            refused += one.recv(20).startswith(b"HTTP/1.1 429")
        one.close()
    return f"{refused} of 540 refused with 429"


def _mcp(size: int) -> Attack:
    arguments = {"query": "x", "more": [[]] * (size // 3)}
    params = {"name": "recall", "arguments": arguments}
    return _request("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


def attacks() -> Iterator[tuple[str, Attack]]:
    """Every attack and its name."""
    yield "nothing (5 s)", lambda line: time.sleep(5) or ""
    yield "PNG of 1 × 50,000,000", _medium(png(1, 50_000_000))
    yield "PNG of 760 × 65,535, eight at once", _together(8, _medium(png(760, 65_535)))
    yield "PDF unpacking to 400 MB", _document("a.pdf", pdf(400))
    yield "DOCX unpacking to 194 MB", _document("a.docx", docx(194))
    yield "JSON of 5,000,000 leaves", _document("a.json", b"[" + b"1," * 4_999_999 + b"1]")
    yield "CSV of 2,000,000 rows", _document("a.csv", b"a,b\n" * 2_000_000)
    yield "import of mem0, an item of 5,000,000 leaves", _file("a.json", mem0(b"[]," * 5_000_000))
    yield "import of mem0, 5,000,000 items", _file("a.json", b'[{"memory": "x"}' + b",1" * 5_000_000 + b"]")
    yield "import of an export, a line of 5,000,000 leaves", _file("a.jsonl", export(b"[]," * 5_000_000))
    yield "import of a table, a row of 40 MB", _file("a.csv", b'text\n"x\n' + b'","x\n' * 8_000_000)
    yield "540 dripping uploads", _drip
    yield "MCP body of 9 MB", _mcp(9_000_000)
    yield "MCP body of 30 kB in 10,000 lists", _mcp(29_000)
    yield "query of 1 MB", _request("/v1/recall", {"query": "where is it now " * 62_500})
    yield "query of 10,000 characters", _request("/v1/recall", {"query": "where is it now " * 625})
    yield "metadata of 9.9 MB", _request("/v1/memories", {"content": "x", "metadata": {"a": "x" * 9_900_000}})
    yield "JSON body of 400,000 values", _request("/v1/memories", {"content": "x", "metadata": {"a": [1] * 400_000}})
    yield "an honest text of 2 MB", _document("a.txt", text(2))
    yield "an honest text of 9 MB", _document("b.txt", text(9))


def _together(times: int, attack: Attack) -> Attack:
    def all_at_once(line: Line) -> str:
        found: list[str] = []
        threads = [threading.Thread(target=lambda: found.append(attack(line))) for _ in range(times)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        return found[0]

    return all_at_once


# Measuring


class Victim:
    """Ann, who goes on with her own work and notes how long each of her requests takes."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self.slowest: Slowest = {}
        self.failed = 0

    def work(self, over: threading.Event) -> None:
        """Ask until it is over."""
        asks: dict[str, Callable[[], tuple[int, Any]]] = {
            "recall": lambda: self._line.ask("POST", "/v1/recall", {"query": "where does Ann live?"}),
            "write": lambda: self._line.ask("POST", "/v1/threads/a/messages", _MESSAGE),
            "live": lambda: self._line.ask("GET", "/health/live"),
        }
        while not over.is_set():
            for name, ask in asks.items():
                begun = time.perf_counter()
                status, _ = ask()
                took = time.perf_counter() - begun
                self.failed += status >= 400
                self.slowest[name] = max(self.slowest.get(name, 0.0), took)
            time.sleep(0.01)


_MESSAGE = {"messages": [{"role": "user", "content": "I live in Lyon."}]}


@contextmanager
def _watched(served: Served, victim: Victim) -> Iterator[list[float]]:
    over, held = threading.Event(), [served.memory_mb]

    def watch() -> None:
        while not over.wait(0.02):
            held.append(served.memory_mb)

    threads = [threading.Thread(target=victim.work, args=(over,)), threading.Thread(target=watch)]
    for one in threads:
        one.start()
    try:
        yield held
    finally:
        over.set()
        for one in threads:
            one.join()


_ROUNDS = 3
_LEAST_S, _MOST_S = 3.0, 20.0
"""How long a round lasts at least, in which a short attack is repeated, and how long one without an attack at most."""


def measure(name: str, attack: Attack, served: Served, mallory: Line, ann: Line) -> dict[str, Any]:
    """What one attack costs: the slowest request in each round, with the attack and without, and their medians."""
    attacked, quiet, grown, failed, outcome, begun = list[Slowest](), list[Slowest](), 0.0, 0, "", time.monotonic()
    for _ in range(_ROUNDS):
        victim, started = Victim(ann), time.monotonic()
        with _watched(served, victim) as held:
            while True:
                outcome = attack(mallory)
                if time.monotonic() - started > _LEAST_S:
                    break
        attacked.append(victim.slowest)
        grown, failed = max(grown, max(held) - held[0]), failed + victim.failed
        victim = Victim(ann)
        with _watched(served, victim):
            time.sleep(min(time.monotonic() - started, _MOST_S))
        quiet.append(victim.slowest)
    found: dict[str, Any] = {"attack": name}
    for kind in ("recall", "write", "live"):
        with_it, without = (median(one[kind] for one in rounds) * 1000 for rounds in (attacked, quiet))
        cost = median(one[kind] - other[kind] for one, other in zip(attacked, quiet, strict=True)) * 1000
        found |= {f"{kind}_ms": round(with_it), f"{kind}_quiet_ms": round(without), f"{kind}_cost_ms": round(cost)}
    return found | {
        "failed": failed,
        "memory_mb": round(grown),
        "seconds": round(time.monotonic() - begun, 1),
        "outcome": outcome,
    }


def main() -> None:
    """Run all attacks, or those whose names hold a word."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tenants", description=__doc__)
    parser.add_argument("only", nargs="?", default="", help="a word in the names of those to run")
    parser.add_argument("--dry", action="store_true", help="do not write the result to benchmarks/results")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="memwell-tenants-") as folder:
        store = Path(folder) / "store.db"
        tokens = [make_key(store, space) for space in ("mallory", "ann")]
        served = Served(store)
        try:
            mallory, ann = (Line(served.port, token) for token in tokens)
            while ann.ask("GET", "/health/ready")[0] != 200:
                time.sleep(0.2)
            ann.ask("POST", "/v1/memories", {"content": "Ann lives in Lyon."})
            ann.ask("POST", "/v1/recall", {"query": "where does Ann live?"})
            for name, attack in attacks():
                if options.only in name:
                    rows.append(measure(name, attack, served, mallory, ann))
                    console.print(rows[-1])
        finally:
            served.stop()
    if not options.dry:
        _keep(rows)


def _keep(rows: list[dict[str, Any]]) -> None:
    kept = {"when": today(), **facts(), "rows": rows}
    (RESULTS / "tenants.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    lines = [
        "# What one tenant costs another",
        "",
        f"Made by `python -m benchmarks.tenants` on {today()}. One tenant sends the file or request; the times are the",
        f"slowest request of another tenant meanwhile, in milliseconds, with the attack / without it (medians of {_ROUNDS}",
        "rounds in alternation), and the cost is the median difference for a recall. The memory is the growth of the",
        f"service without its workers. {facts()['cores']} processors, which others may have used at the same time; the",
        "first row sends nothing.",
        "",
        "| sent | recall | cost | write | live | memory, MB | refused or stored |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [
            row["attack"],
            f"{row['recall_ms']} / {row['recall_quiet_ms']}",
            row["recall_cost_ms"],
            *(f"{row[f'{kind}_ms']} / {row[f'{kind}_quiet_ms']}" for kind in ("write", "live")),
            row["memory_mb"],
            row["outcome"],
        ]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    (RESULTS / "tenants.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
