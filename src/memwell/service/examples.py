"""Examples for the description of the API: what is asked, and what is answered."""

from __future__ import annotations

from typing import Any

_TIME = "2026-03-01T09:30:00Z"
_HIT: dict[str, Any] = {
    "id": "0195f0a2b3c47d8e9f00112233445566",
    "text": "Ann is allergic to nuts.",
    "score": 1.42,
    "time": _TIME,
    "kind": "memory",
    "speaker": "",
    "session": "",
    "importance": 0.6,
    "metadata": {},
    "signals": {"meaning": {"value": 0.61, "share": 0.9}, "words": {"value": 3.2, "share": 0.52}},
    "evidence": [],
    "trust": "user",
    "flags": [],
    "pinned": False,
    "asked": "what can Ann not eat?",
    "accessed": None,
}

EXAMPLES: dict[str, tuple[Any, Any]] = {
    "remember": (
        {"content": "Ann is allergic to nuts.", "speaker": "Ann", "metadata": {"source": "intake form"}},
        {"ids": [_HIT["id"]], "rejected": []},
    ),
    "recall": (
        {"query": "what can Ann not eat?", "limit": 5},
        {"hits": [_HIT], "why": ["same meaning (63 %); same words: Ann (37 %)"]},
    ),
    "add_messages": (
        {"messages": [{"role": "user", "content": "I am allergic to nuts."}], "remember": True},
        {
            "messages": [
                {
                    "role": "human",
                    "parts": [{"type": "text", "text": "I am allergic to nuts."}],
                    "id": "0195f0a2b3c47d8e9f00112233445577",
                    "time": _TIME,
                    "index": 0,
                    "round": 1,
                    "tokens": 10,
                }
            ],
            "remembered": {"ids": [_HIT["id"]], "rejected": []},
        },
    ),
    "forget": ({"ids": [_HIT["id"]], "reason": "asked to"}, {"ids": [_HIT["id"]]}),
    "erase": (
        {"ids": [_HIT["id"]]},
        {"memories": 1, "derived": 0, "versions": 0, "facts": 1, "receipts": 0, "blobs": 0},
    ),
    "create_key": (
        {"name": "the phone app", "space": ["acme", "ann"], "scopes": ["read", "write"], "expires_days": 90},
        {
            "key": {
                "id": "k7d2m4qx",
                "name": "the phone app",
                "space": ["acme", "ann"],
                "scopes": ["read", "write"],
                "created": _TIME,
                "expires": "2026-05-30T09:30:00Z",
                "revoked": None,
                "rotated": None,
                "last_used": None,
                "rate": None,
            },
            "token": "mw_k7d2m4qx_…",
        },
    ),
}
"""By the name of the route. The tests read each by the shapes, so that none grows old."""


__all__ = ["EXAMPLES"]
