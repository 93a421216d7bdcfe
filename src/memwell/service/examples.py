"""Examples for the description of the API: what is asked, and what is answered."""

from __future__ import annotations

from typing import Any

_TIME = "2026-03-01T09:30:00Z"
_END = "2030-01-01T00:00:00Z"
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

_MESSAGE: dict[str, Any] = {
    "role": "human",
    "parts": [{"type": "text", "text": "I am allergic to nuts."}],
    "id": "0195f0a2b3c47d8e9f00112233445577",
    "time": _TIME,
    "index": 0,
    "round": 1,
    "tokens": 10,
}
_KEY: dict[str, Any] = {
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
}
_JOB: dict[str, Any] = {
    "id": "18e8508403e11a83442fc8bad01b3a84",
    "action": "export",
    "status": "waiting",
    "created": _TIME,
    "updated": _TIME,
    "stage": "",
    "done": 0,
    "of": None,
    "result": None,
    "file": "",
    "problem": None,
    "note": "",
}
_ID: str = _HIT["id"]
_OTHER_ID = "0195f0a2b3c47d8e9f00112233445588"

REQUESTS: dict[str, dict[str, Any]] = {
    # Conversations
    "add_messages": {"messages": [{"role": "user", "content": "I am allergic to nuts."}], "remember": True},
    "edit_message": {"content": "I am allergic to peanuts."},
    "search_thread": {"query": "nuts", "limit": 5},
    "window": {"tokens": 2000},
    "annotate_thread": {"metadata": {"channel": "phone"}},
    "trim_thread": {"rounds": 20},
    # Memories
    "remember": {"content": "Ann is allergic to nuts.", "speaker": "Ann", "metadata": {"source": "intake form"}},
    "update": {"importance": 0.9, "reason": "it is about her health"},
    "pin": {"pinned": True},
    "feedback": {"useful": True},
    "recall": {"query": "what can Ann not eat?", "limit": 5},
    "similarities": {"query": "food", "ids": [_ID]},
    "forget": {"ids": [_ID], "reason": "asked to"},
    "forget_by": {"older_than_days": 365, "unused": True, "dry_run": True},
    "erase": {"ids": [_ID]},
    "compress": {"threshold": 0.9, "dry_run": True},
    "merge": {"kept": _ID, "others": [_OTHER_ID]},
    "reflect": {"least": 1, "most": 5},
    "mend": {
        "actions": [
            {"verb": "forget", "space": ["acme", "ann"], "record": _OTHER_ID, "reason": "it says nothing", "others": []}
        ]
    },
    # Prompts and documents
    "context": {"query": "what can Ann not eat?", "budget": 1000, "system": "Answer briefly.", "profile": "user"},
    "add_document": {"text": "Whales sing.", "id": "whales", "title": "Whales", "metadata": {"year": 2026}},
    "fetch_document": {"url": "https://example.org/whales.html"},
    "look_up": {"query": "what do whales do?", "where": {"year": {"$ge": 2020}}},
    "ask": {"question": "what do whales do?", "language": "en"},
    # Media
    "recall_media": {"query": "the beach", "kinds": ["image"]},
    "like_media": {"vector": [0.1, 0.7, 0.2], "limit": 3},
    "erase_media": {"ids": [_OTHER_ID]},
    # The service
    "export": {"format": "jsonl"},
    "grant": {"to": ["acme", "ben"], "until": "2030-01-01"},
    "revoke_grant": {"to": ["acme", "ben"]},
    "create_key": {"name": "the phone app", "space": ["acme", "ann"], "scopes": ["read", "write"], "expires_days": 90},
    "rotate_key": {"grace_minutes": 60},
}
"""What is asked, by the name of the route: one of every route that takes a body. The tests send each to a service."""

ANSWERS: dict[str, dict[str, Any]] = {
    "add_messages": {"messages": [_MESSAGE], "remembered": {"ids": [_ID], "rejected": []}},
    "window": {"messages": [_MESSAGE]},
    "remember": {"ids": [_ID], "rejected": []},
    "update": {**_HIT, "score": 0.0, "signals": {}, "asked": "", "importance": 0.9},
    "recall": {"hits": [_HIT], "why": ["same meaning (63 %); same words: Ann (37 %)"]},
    "similarities": {"similarities": {_ID: 0.61}},
    "forget": {"ids": [_ID]},
    "forget_by": {"reasons": {_OTHER_ID: "older than 365 days; never recalled"}, "kept": 41, "dry_run": True},
    "erase": {"memories": 1, "derived": 0, "versions": 0, "facts": 1, "receipts": 0, "blobs": 0},
    "add_document": {
        "id": "whales",
        "source": "",
        "title": "Whales",
        "media_type": "text/plain",
        "digest": "a571c45ec62d897761834882383f90312b90c9a70bee0c94a9557e826719f2d9",
        "size": 12,
        "characters": 12,
        "pages": None,
        "chunks": 1,
        "time": _TIME,
        "modified": None,
        "metadata": {"year": 2026},
        "warnings": [],
    },
    "export": _JOB,
    "audit": {**_JOB, "action": "audit"},
    "grant": {"owner": ["acme", "ann"], "to": ["acme", "ben"], "write": False, "since": _TIME, "until": _END},
    "revoke_grant": {"done": 1},
    "create_key": {"key": _KEY, "token": "mw_k7d2m4qx_…"},
    "rotate_key": {"key": {**_KEY, "rotated": _TIME}, "token": "mw_k7d2m4qx_…"},
    "job": {**_JOB, "status": "done", "stage": "write", "done": 42, "of": 42, "file": "memwell-export.jsonl"},
    "live": {"status": "ok", "version": "1.0", "checks": None},
}
"""What is answered, by the name of the route, for the main ones. The tests read each by the shape of the answer."""
