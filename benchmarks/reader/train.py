"""Train a reader on a GPU: ``python train.py DATA BODY NAME [HELD …]``; needs torch, transformers, numpy, no memwell.

DATA is what ``data.py`` wrote. BODY is memwell's ``encoder.npz``, from whose third layer the reader of English goes on, or
what ``data.py`` wrote beside DATA, the multilingual model, from whose convolutions that of Chinese does. Sentences by the
writers HELD are not learnt from. Writes ``NAME.npz`` to $OUT, in half precision, for ``export.py``.

With $START, a file that ``export.py`` wrote, those weights learn further, at a third of the rate: a few epochs do without a
GPU. Then $SHARE is the part of the English sentences that is learnt again.

Objects are replaced by others of their kind at random, and two sentences are joined to one text now and then, so that the
model learns from the words around a name rather than from the name.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from transformers import BertConfig, BertModel

OUT = Path(os.environ.get("OUT", "."))
START, SHARE = os.environ.get("START", ""), float(os.environ.get("SHARE", "1"))
SLOWER = 0.3
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
STARTED = time.time()
RELATIONS = (
    "name age birthday from nationality lives_in works_at occupation studies_at studies graduated_from speaks email "
    "phone married_to partner parent child sibling relative friend colleague pet owns likes dislikes hobby allergic_to "
    "diet plans visited bought favourite subject"
).split()
NUMBERS = {name: number for number, name in enumerate(RELATIONS)} | {
    "works_in": RELATIONS.index("works_at"),
    "studies_in": RELATIONS.index("studies_at"),
}
SHARED, SIZE, HEADS, POINTER = 3, 384, 12, 128
FEATURES, FURTHEST, WINDOWS = 1280, 24, ((2, 0), (3, 1), (5, 2))
EPOCHS, BATCH, RATE_OF_HEADS, DECAY = int(os.environ.get("EPOCHS", "20")), 48, 2e-3, 0.998
SWAPPED, JOINED, UNSEEN = 0.5, 0.3, 0.1
HAN = re.compile("[\u4e00-\u9fff]").search
PEOPLE = "name married_to partner parent child sibling relative friend colleague".split()
GROUPS = {
    **dict.fromkeys(PEOPLE, "people"),
    **dict.fromkeys(("lives_in", "from", "visited"), "places"),
    **dict.fromkeys(("studies_at", "graduated_from"), "schools"),
    **{one: one for one in ("works_at", "occupation", "studies", "hobby", "allergic_to", "subject")},
}
"""Objects that may stand for each other."""


class EnglishBody(nn.Module):
    """The encoder's lower layers, as they are, and its upper ones to learn from."""

    rate = 2e-4

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        sizes = {"vocab_size": 30522, "hidden_size": SIZE, "num_hidden_layers": 6, "num_attention_heads": HEADS}
        self.trunk = BertModel(BertConfig(**sizes, intermediate_size=1536), add_pooling_layer=False)
        self._start_from(encoder)
        for part in (self.trunk.embeddings, *self.trunk.encoder.layer[:SHARED]):
            part.requires_grad_(requires_grad=False)

    def _start_from(self, stored: Any) -> None:
        state = self.trunk.state_dict()
        for key in stored.files:
            name = key.removeprefix("trunk.").removesuffix(".q")
            if key.startswith("trunk.") and not key.endswith(".s"):
                value = stored[key].astype(np.float32)
                if key.endswith(".q"):
                    value = value * stored[f"{key[:-2]}.s"].reshape(-1, 1)
                state[name][: len(value)] = torch.tensor(value)
        self.trunk.load_state_dict(state)

    def forward(self, ids: Any, capitals: Any, mask: Any) -> Any:
        away = (1 - mask[:, None, None, :].float()) * -1e9
        with torch.no_grad():
            self.trunk.embeddings.eval()
            x = self.trunk.embeddings(ids)
            for layer in self.trunk.encoder.layer[:SHARED]:
                x = first(layer.eval()(x, attention_mask=away))
        x = x + capitals
        for layer in self.trunk.encoder.layer[SHARED:]:
            x = first(layer(x, attention_mask=away))
        return x


class MultilingualBody(nn.Module):
    """The multilingual model's embeddings and convolutions, as they are, and layers that know how far pieces are apart."""

    rate = 1e-3

    def __init__(self, weights: Any) -> None:
        super().__init__()
        self.fixed = {name: torch.tensor(weights[name].astype(np.float32), device=DEVICE) for name in weights.files}
        sizes = {"vocab_size": 1, "hidden_size": SIZE, "num_hidden_layers": SHARED, "num_attention_heads": HEADS}
        drops = {"hidden_dropout_prob": 0.3, "attention_probs_dropout_prob": 0.3}
        self.trunk = BertModel(BertConfig(**sizes, **drops, intermediate_size=768), add_pooling_layer=False)
        del self.trunk.embeddings
        self.trunk.project = nn.Linear(FEATURES, SIZE)
        self.trunk.norm = nn.LayerNorm(SIZE, eps=1e-12)
        self.trunk.near = nn.Parameter(torch.randn(HEADS, 2 * FURTHEST + 1) * 0.1)
        self.drop = nn.Dropout(0.2)

    def features(self, ids: Any, mask: Any) -> Any:
        """The embeddings of pieces, and what the convolutions make of them; in training, some pieces are not seen."""
        one = self.fixed
        rows = one["table"][ids] * one["scales"][ids] + one["lowest"][ids]
        if self.training:
            rows = rows * (torch.rand(ids.shape, device=DEVICE) > UNSEEN)[..., None]
        x = torch.cat([rows @ one[f"proj{size}"] + one[f"proj_b{size}"] for size, _ in WINDOWS], -1)
        norm = [torch.cat([one[f"{name}{size}"] for size, _ in WINDOWS]) for name in ("ln_g", "ln_b")]
        x = F.layer_norm(x, x.shape[-1:], *norm)
        branches = [rows]
        for part, (size, before) in zip(x.chunk(len(WINDOWS), -1), WINDOWS, strict=True):
            seen = part
            for number in (1, 2):
                padded = F.pad(seen * mask[..., None], (0, 0, before, size - 1 - before))
                window = torch.cat([padded[:, at : at + ids.shape[1]] for at in range(size)], -1)
                seen = F.relu(window @ one[f"w{number}_{size}"] + one[f"b{number}_{size}"]) + seen
            branches.append(seen)
        x = torch.cat(branches, -1)
        return F.layer_norm(x, x.shape[-1:], one["ln_g"], one["ln_b"])

    def forward(self, ids: Any, capitals: Any, mask: Any) -> Any:
        with torch.no_grad(), torch.autocast(DEVICE, enabled=False):
            x = self.features(ids, mask.float())
        x = self.trunk.norm(self.trunk.project(self.drop(x)) + capitals)
        at = torch.arange(ids.shape[1], device=DEVICE)
        apart = (at[None] - at[:, None]).clamp(-FURTHEST, FURTHEST) + FURTHEST
        away = (1 - mask[:, None, None, :].float()) * -1e9 + self.trunk.near[:, apart][None]
        for layer in self.trunk.encoder.layer:
            x = first(layer(x, attention_mask=away))
        return x


class Reader(nn.Module):
    """A body, and what is said of each piece."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body
        self.capitals = nn.Embedding(3, SIZE)
        self.relation = nn.Embedding(len(RELATIONS), POINTER)
        self.drop = nn.Dropout(0.2)
        self.heads = nn.Linear(SIZE, 3 * len(RELATIONS) + 2 * POINTER)
        for table in (self.capitals, self.relation):
            nn.init.normal_(table.weight, std=0.02)
        with torch.no_grad():
            self.heads.bias[: 2 * len(RELATIONS)] = -4.0

    def forward(self, ids: Any, capitals: Any, mask: Any) -> Any:
        x = self.body(ids, self.capitals(capitals), mask)
        many = len(RELATIONS)
        return self.heads(self.drop(x)).float().split([many, many, many, POINTER, POINTER], dim=-1)

    def subjects(self, asks: Any, answers: Any, row: Any, at: Any, relation: Any, mask: Any) -> Any:
        asked = asks[row, at] + self.relation(relation)
        scores = torch.einsum("fd,fnd->fn", asked, answers[row]) / math.sqrt(POINTER)
        return scores.masked_fill(mask[row] == 0, -1e9)


def first(made: Any) -> Any:
    return made[0] if isinstance(made, tuple) else made


Row = dict[str, Any]


Words = dict[str, list[tuple[list[int], list[int]]]]


def spans(row: Row) -> list[tuple[str, int, int]]:
    """What may be replaced in a sentence: the group, the first and the last piece."""
    objects = {start for name, _, start, _, _ in row["facts"] if name != "subject"}
    return [
        (GROUPS[name], start, end)
        for name, _, start, end, _ in row["facts"]
        if name in GROUPS and start and (name != "subject" or start not in objects)
    ]


def by_group(rows: list[Row]) -> Words:
    found: Words = {}
    for row in rows:
        for group, start, end in spans(row):
            words = row["ids"][start : end + 1], row["capitals"][start : end + 1]
            found.setdefault(group, []).append(words)
    return found


def swapped(row: Row, words: Words, rng: random.Random) -> Row:
    """The sentence with some objects replaced by others of their kind, where no other object overlaps them."""
    places = {(fact[2], fact[3]) for fact in row["facts"]}
    chosen: dict[int, tuple[int, str]] = {}
    for group, start, end in spans(row):
        alone = not any(one != (start, end) and one[0] <= end and start <= one[1] for one in places)
        if alone and rng.random() < SWAPPED:
            chosen[start] = (end, group)
    ids: list[int] = []
    capitals: list[int] = []
    moved: dict[int, int] = {}
    ends: dict[int, int] = {}
    at = 0
    while at < len(row["ids"]):
        end, group = chosen.get(at, (at, ""))
        new = rng.choice(words[group]) if group else ([row["ids"][at]], [row["capitals"][at]])
        moved |= dict.fromkeys(range(at, end + 1), len(ids))
        ids, capitals = ids + new[0], capitals + new[1]
        ends[end] = len(ids) - 1
        at = end + 1
    facts = [[name, over, moved[a], ends.get(b, moved[b]), moved[who]] for name, over, a, b, who in row["facts"]]
    return {"ids": ids, "capitals": capitals, "facts": facts}


def joined(one: Row, other: Row) -> Row:
    by = len(one["ids"]) - 2
    facts = [
        [n, over, *((a + by, b + by) if a else (0, 0)), who + by if who else 0] for n, over, a, b, who in other["facts"]
    ]
    return {
        "ids": one["ids"][:-1] + other["ids"][1:],
        "capitals": one["capitals"][:-1] + other["capitals"][1:],
        "facts": one["facts"] + facts,
    }


def batch(rows: list[Row]) -> Any:
    longest = max(len(row["ids"]) for row in rows)
    ids, capitals, mask = (np.zeros((len(rows), longest), np.int64) for _ in range(3))
    begins, inside = (np.zeros((len(rows), longest, len(RELATIONS)), np.float32) for _ in range(2))
    facts: list[tuple[int, ...]] = []
    for number, row in enumerate(rows):
        size = len(row["ids"])
        ids[number, :size], capitals[number, :size], mask[number, :size] = row["ids"], row["capitals"], 1
        for name, over, a, b, who in row["facts"]:
            relation = NUMBERS[name]
            begins[number, a, relation] = 1
            inside[number, a : b + 1, relation] = 1
            facts.append((number, a, relation, over, who))
    return [torch.from_numpy(one).to(DEVICE) for one in (ids, capitals, mask, begins, inside)], facts


def loss_of(model: Reader, rows: list[Row]) -> Any:
    (ids, capitals, mask, begins, inside), facts = batch(rows)
    with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
        begin, within, ended, asks, answers = model(ids, capitals, mask)
    seen = mask[..., None].float()
    loss = (F.binary_cross_entropy_with_logits(begin, begins, reduction="none") * seen).sum()
    loss = loss + 0.5 * (F.binary_cross_entropy_with_logits(within, inside, reduction="none") * seen).sum()
    if facts:
        row, at, relation, over, who = torch.tensor(facts, device=DEVICE).T
        loss = loss + F.binary_cross_entropy_with_logits(ended[row, at, relation], over.float(), reduction="sum")
        scores = model.subjects(asks, answers, row, at, relation, mask)
        loss = loss + F.cross_entropy(scores, who, reduction="sum")
    return loss / len(rows)


def go_on_from(model: Reader, exported: Path) -> None:
    """Set the weights to those that were exported."""
    state, renamed = model.state_dict(), {"heads": "heads.weight", "biases": "heads.bias"}
    with np.load(exported) as stored:
        for key, value in stored.items():
            name = renamed.get(key, f"{key}.weight" if key in ("capitals", "relation") else f"body.{key}")
            if key.endswith(".s"):
                continue
            if key.endswith(".q"):
                name, value = name.removesuffix(".q"), value * stored[f"{key[:-2]}.s"]
            state[name] = torch.tensor(value.T if key == "heads" else value).to(state[name])
    model.load_state_dict(state)


def train(rows: list[Row], weights: Path) -> Reader:
    torch.manual_seed(0)
    rng = random.Random(0)
    stored = np.load(weights)
    model = Reader(MultilingualBody(stored) if "table" in stored.files else EnglishBody(stored)).to(DEVICE)
    body = [one for name, one in model.named_parameters() if one.requires_grad and ".layer." in name]
    heads = [one for name, one in model.named_parameters() if one.requires_grad and ".layer." not in name]
    rates = [model.body.rate, RATE_OF_HEADS]
    if START:
        go_on_from(model, Path(START))
        rates = [SLOWER * rate for rate in rates]
        rows = [row for row in rows if HAN(row["text"]) or rng.random() < SHARE]
    learner = torch.optim.AdamW(
        [{"params": body, "lr": rates[0]}, {"params": heads, "lr": rates[1]}], weight_decay=0.01
    )
    steps = EPOCHS * (len(rows) // BATCH)
    pace = torch.optim.lr_scheduler.OneCycleLR(learner, rates, total_steps=steps + 1, pct_start=0.1)
    # The words of one language do not stand in sentences of another.
    languages = [[row for row in rows if bool(HAN(row["text"])) is han] for han in (True, False)]
    words = [by_group(some) for some in languages]
    mean = [one.detach().clone() for one in body + heads]
    for epoch in range(EPOCHS):
        order = rng.sample(range(len(rows)), len(rows))
        total = 0.0
        for start in range(0, len(order) - BATCH + 1, BATCH):
            some: list[Row] = []
            for row in (rows[at] for at in order[start : start + BATCH]):
                language = 0 if HAN(row["text"]) else 1
                one = swapped(row, words[language], rng)
                if rng.random() < JOINED:
                    other = swapped(rng.choice(languages[language]), words[language], rng)
                    if len(one["ids"]) + len(other["ids"]) < 200:
                        one = joined(one, other)
                some.append(one)
            loss = loss_of(model.train(), some)
            learner.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(body + heads, 1.0)
            learner.step()
            pace.step()
            with torch.no_grad():
                torch._foreach_lerp_(mean, [one.detach() for one in body + heads], 1 - DECAY)
            total += float(loss.detach()) if start % (BATCH * 20) == 0 else 0.0
        print(
            f"{time.time() - STARTED:4.0f} s epoch {epoch + 1} loss {total / (len(order) // (BATCH * 20) + 1):.2f}",
            flush=True,
        )
    with torch.no_grad():
        for one, kept in zip(body + heads, mean, strict=True):
            one.copy_(kept)
    return model.eval()


def main() -> None:
    data, weights, name, *held = sys.argv[1:]
    if "table" not in np.load(weights).files:
        # Who is spoken of has a relation in Chinese only.
        RELATIONS.remove("subject")
    rows = [row for row in json.loads(Path(data).read_text("utf-8")) if row["by"] not in held]
    model = train(rows, Path(weights))
    fixed = ("body.trunk.embeddings.", *(f"body.trunk.encoder.layer.{number}." for number in range(SHARED)))
    kept = {
        key.removeprefix("body."): value.detach().half().cpu().numpy()
        for key, value in model.state_dict().items()
        if isinstance(model.body, MultilingualBody) or not key.startswith(fixed)
    }
    np.savez(OUT / f"{name}.npz", **kept)
    print(f"{time.time() - STARTED:4.0f} s {name}: {len(rows)} sentences", flush=True)


if __name__ == "__main__":
    main()
