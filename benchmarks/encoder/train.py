"""Train the encoder on a GPU: ``python train.py FOLDER RECIPE …``; needs torch, transformers and numpy, and no memwell.

FOLDER holds ``stores.json.gz`` (from ``data.py``) and ``minilm.npz`` (from ``weights.py``). A RECIPE is a list of settings
such as ``name=base,epochs=3,teacher=1``; those that it does not name have the defaults of ``Recipe``. With ``whole=1`` the
held-out stores are learnt from too, with ``fold=3`` those of LongMemEval that are held out are of that fold, and ``save=1``
writes the weights to $OUT. Every recipe starts from the same seed.

Both a question and a turn are read as ``[CLS] text [SEP]``; the vector is the mean over start and pieces. Loss: the
cross-entropy of the gold turn among the negatives of its question and all turns of the batch's other questions, for late
interaction and for the cosine, and the divergence from a cross-encoder (the teacher) over the question's own turns.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from transformers import BertConfig, BertModel

CLS, SEP = 101, 102
OUT = Path(os.environ.get("OUT", "."))
SETS = {"friends": 1.0, "meetings": 1.0, "chats": 0.5, "assistant": 1.0, "written": 1.0, "made-up": 0.2}
"""Which share of a set's questions an epoch sees."""
STARTED = time.time()


@dataclass(frozen=True)
class Recipe:
    name: str = "base"
    epochs: int = 3
    rate: float = 3e-5
    batch: int = 32
    negatives: int = 9
    dimensions: int = 96
    teacher: int = 0
    teacher_epochs: int = 2
    mined: int = 0
    """Hard negatives are mined again by the model itself before each epoch but the first."""
    gate: int = 0
    """A weight for each piece of the question in late interaction."""
    made_up: float = 0.2
    assistant: float = 1.0
    written: float = 1.0
    average: float = 0.0
    """Decay of the running mean of the weights that is kept instead of the last weights."""
    temperature: float = 1.0
    seed: int = 0
    whole: int = 0
    fold: int = 0
    """Which fold of LongMemEval is held out; of the other sets it is always the first."""
    save: int = 0
    look: int = 0
    """Measure LoCoMo as well. Nothing is chosen by it."""

    @classmethod
    def of(cls, text: str) -> Recipe:
        given = dict(item.split("=") for item in text.split(","))
        plain = cls()
        return replace(plain, **{key: type(getattr(plain, key))(value) for key, value in given.items()})


def log(*what: object) -> None:
    print(f"{time.time() - STARTED:5.0f} s", *what, flush=True)


# Data


class Turn:
    __slots__ = ("pieces",)

    def __init__(self, pieces: list[int]) -> None:
        self.pieces = pieces


class Question:
    __slots__ = ("gold", "hard", "kind", "pieces", "scores", "store")

    def __init__(self, store: list[Turn], given: dict[str, Any]) -> None:
        self.store, self.pieces, self.gold, self.kind = store, given["t"], given["g"], given["c"]
        self.hard: list[int] = given.get("n", [])
        self.scores = np.array(given["b"], np.float32) if "b" in given else None


class Store:
    __slots__ = ("fold", "questions", "turns")

    def __init__(self, packed: dict[str, Any]) -> None:
        self.fold: int = packed["fold"]
        self.turns = [Turn(line[1:]) for line in packed["turns"]]
        self.questions = [Question(self.turns, one) for one in packed["queries"]]


class Data:
    def __init__(self, folder: Path) -> None:
        with gzip.open(folder / "stores.json.gz", "rt") as file:
            packed = json.load(file)
        self.sets = {name: [Store(one) for one in stores] for name, stores in packed.items()}
        log("read", {name: sum(len(store.questions) for store in stores) for name, stores in self.sets.items()})

    def held(self, name: str, recipe: Recipe) -> list[Store]:
        """The stores of a set that a recipe is judged on."""
        fold = recipe.fold if name == "assistant" else 0
        return [store for store in self.sets[name] if store.fold == fold]

    def questions(self, recipe: Recipe, rng: random.Random) -> list[Question]:
        shares = SETS | {"made-up": recipe.made_up, "assistant": recipe.assistant, "written": recipe.written}
        found: list[Question] = []
        for name, share in shares.items():
            held = [] if recipe.whole else self.held(name, recipe)
            mine = [q for store in self.sets[name] if store not in held for q in store.questions]
            mine = [q for q in mine if len(q.hard) >= 8 and len(q.store) > 20]
            whole, rest = divmod(share, 1.0)
            found += mine * int(whole) + rng.sample(mine, int(rest * len(mine)))
        rng.shuffle(found)
        return found


# Models


def trunk(folder: Path) -> BertModel:
    config = BertConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536, vocab_size=30522,
        max_position_embeddings=512, type_vocab_size=2, layer_norm_eps=1e-12, hidden_act="gelu",
    )  # fmt: skip
    model = BertModel(config, add_pooling_layer=False)
    stored = np.load(folder / "minilm.npz")
    state: dict[str, torch.Tensor] = {}
    for key in stored.files:
        if key.endswith(".q"):
            state[key[:-2]] = torch.tensor(stored[key].astype(np.float32) * stored[key[:-2] + ".s"].astype(np.float32))
        elif not key.endswith(".s"):
            state[key] = torch.tensor(stored[key].astype(np.float32))
    missing = model.load_state_dict(state, strict=False).missing_keys
    assert not missing, missing
    return model.cuda()


Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def batch(rows: Sequence[tuple[list[int], int, int, int]]) -> Batch:
    """Rows padded: pieces, which are read, which count (a first and a last one, and the start), and which are of type 1."""
    longest = max(len(row[0]) for row in rows)
    longest += -longest % 8
    pieces, read = np.zeros((len(rows), longest), np.int64), np.zeros((len(rows), longest), np.int64)
    counted, kinds = np.zeros((len(rows), longest), np.float32), np.zeros((len(rows), longest), np.int64)
    for at, (row, first, last, second) in enumerate(rows):
        pieces[at, : len(row)], read[at, : len(row)] = row, 1
        counted[at, 0] = counted[at, first:last] = 1
        if second:
            kinds[at, second : len(row)] = 1
    a, b, c, d = (torch.from_numpy(one).pin_memory().cuda(non_blocking=True) for one in (pieces, read, counted, kinds))
    return a, b, c, d


def turn_row(turn: Turn) -> tuple[list[int], int, int, int]:
    return [CLS, *turn.pieces, SEP], 1, 1 + len(turn.pieces), 0


def question_row(question: Question) -> tuple[list[int], int, int, int]:
    return [CLS, *question.pieces, SEP], 1, 1 + len(question.pieces), 0


def pair_row(question: Question, turn: Turn) -> tuple[list[int], int, int, int]:
    asked = [CLS, *question.pieces, SEP]
    row = [*asked, *turn.pieces, SEP]
    return row, 1, len(row), len(asked)


class Encoder(torch.nn.Module):
    def __init__(self, folder: Path, recipe: Recipe) -> None:
        super().__init__()
        self.trunk = trunk(folder)
        self.head = torch.nn.Linear(384, recipe.dimensions, bias=False)
        torch.nn.init.orthogonal_(self.head.weight)
        self.gate = torch.nn.Linear(384, 1) if recipe.gate else None
        if self.gate is not None:
            torch.nn.init.zeros_(self.gate.weight)
            torch.nn.init.zeros_(self.gate.bias)
        self.cuda()

    def forward(self, given: Batch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Unit vectors of the texts and of their pieces, which pieces count, and their weights in a question."""
        pieces, read, counted, kinds = given
        hidden = self.trunk(input_ids=pieces, attention_mask=read, token_type_ids=kinds).last_hidden_state
        mean = (hidden * counted[..., None]).sum(1) / counted.sum(1, keepdim=True).clamp(min=1)
        late = F.normalize(self.head(hidden).float(), dim=-1)
        weight = (
            counted if self.gate is None else counted * torch.exp(self.gate(hidden).float().squeeze(-1).clamp(-4, 4))
        )
        return F.normalize(mean.float(), dim=-1), late, counted, weight


class Teacher(torch.nn.Module):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.trunk, self.out = trunk(folder), torch.nn.Linear(384, 1)
        self.cuda()

    def forward(self, given: Batch) -> tuple[torch.Tensor]:
        """The score of each pair, in a column."""
        pieces, read, _, kinds = given
        hidden = self.trunk(input_ids=pieces, attention_mask=read, token_type_ids=kinds).last_hidden_state
        return (self.out(hidden[:, 0]).float(),)


GROUPS = 4


def outputs(model: torch.nn.Module, rows: Sequence[tuple[list[int], int, int, int]]) -> tuple[torch.Tensor, ...]:
    """What a model makes of rows. They are read in groups of like length: most are short, and padding costs as much."""
    order = np.argsort([len(row[0]) for row in rows], kind="stable")
    parts = [model(batch([rows[at] for at in part])) for part in np.array_split(order, min(GROUPS, len(rows)))]
    back = torch.from_numpy(np.argsort(order)).cuda()
    found: list[torch.Tensor] = []
    for pieces in zip(*parts, strict=True):
        longest = max(one.shape[1] for one in pieces)
        # The last dimension of the vectors of pieces is that of the vectors.
        padded = [F.pad(one, (*(0, 0) * (one.ndim - 2), 0, longest - one.shape[1])) for one in pieces]
        found.append(torch.cat(padded)[back])
    return tuple(found)


def interaction(late: torch.Tensor, weight: torch.Tensor, turns: torch.Tensor, counted: torch.Tensor) -> torch.Tensor:
    """The mean, over a question's pieces, of the best match among a turn's pieces: a row a question, a column a turn."""
    best = torch.einsum("qad,nbd->qnab", late, turns).masked_fill(counted[None, :, None] == 0, -1e4).amax(-1)
    return (best * weight[:, None]).sum(-1) / weight.sum(-1)[:, None]


# Training


def sampled(question: Question, count: int, rng: random.Random) -> list[int]:
    gold = set(question.gold)
    hard = rng.sample(question.hard[:30], min(count * 2 // 3, len(question.hard[:30])))
    while len(hard) < count:
        turn = rng.randrange(len(question.store))
        if turn not in gold:
            hard.append(turn)
    return [rng.choice(question.gold), *hard]


def schedule(optimizer: torch.optim.Optimizer, steps: int) -> torch.optim.lr_scheduler.LambdaLR:
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda at: min(1.0, (at + 1) / 100) * max(0.0, 1 - at / steps))


def train_teacher(data: Data, folder: Path, recipe: Recipe) -> Teacher:
    rng = random.Random(recipe.seed + 1)
    model, size, count = Teacher(folder), 24, 15
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-5, weight_decay=0.01)
    steps = recipe.teacher_epochs * len(data.questions(recipe, rng)) // size
    plan = schedule(optimizer, steps)
    for epoch in range(recipe.teacher_epochs):
        questions, total, done = data.questions(recipe, rng), 0.0, 0
        model.train()
        for at in range(0, len(questions) - size + 1, size):
            rows = [pair_row(q, q.store[turn]) for q in questions[at : at + size] for turn in sampled(q, count, rng)]
            with torch.autocast("cuda", torch.bfloat16):
                scores = outputs(model, rows)[0].view(size, -1)
            loss = F.cross_entropy(scores, torch.zeros(size, dtype=torch.long, device="cuda"))
            stepped(loss, model, optimizer, plan)
            total, done = total + loss.detach(), done + 1
        log("  teacher, epoch", epoch, "loss", round(float(total) / done, 3))
    return model.eval()


def stepped(loss: torch.Tensor, model: torch.nn.Module, optimizer: Any, plan: Any) -> None:
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    plan.step()


def train(data: Data, folder: Path, recipe: Recipe, teacher: Teacher | None) -> Encoder:
    rng = random.Random(recipe.seed)
    torch.manual_seed(recipe.seed)
    model = Encoder(folder, recipe)
    heads = [one for one in (model.head, model.gate) if one is not None]
    optimizer = torch.optim.AdamW(
        [
            {"params": model.trunk.parameters(), "lr": recipe.rate},
            {"params": [p for one in heads for p in one.parameters()], "lr": 1e-3},
        ],
        weight_decay=0.01,
    )
    steps = recipe.epochs * len(data.questions(recipe, random.Random(0))) // recipe.batch
    plan = schedule(optimizer, steps)
    for epoch in range(recipe.epochs):
        questions, total, done = data.questions(recipe, rng), 0.0, 0
        if recipe.mined and epoch:
            mine(model, questions)
        model.train()
        for at in range(0, len(questions) - recipe.batch + 1, recipe.batch):
            loss = loss_of(model, questions[at : at + recipe.batch], recipe, teacher, rng)
            stepped(loss, model, optimizer, plan)
            total, done = total + loss.detach(), done + 1
        log("  epoch", epoch, "loss", round(float(total) / done, 3))
    return model.eval()


def loss_of(
    model: Encoder, asked: Sequence[Question], recipe: Recipe, teacher: Teacher | None, rng: random.Random
) -> torch.Tensor:
    count = recipe.negatives + 1
    lists = [[q.store[turn] for turn in sampled(q, recipe.negatives, rng)] for q in asked]
    turns = [turn for one in lists for turn in one]
    with torch.autocast("cuda", torch.bfloat16):
        vectors, late, _, weight = model(batch([question_row(q) for q in asked]))
        others, lates, counted, _ = outputs(model, [turn_row(turn) for turn in turns])
    gold = [{id(q.store[turn]) for turn in q.gold} for q in asked]
    target = torch.arange(len(asked), device="cuda") * count
    also_gold = torch.tensor([[id(turn) in mine for turn in turns] for mine in gold], device="cuda")
    also_gold[torch.arange(len(asked)), target] = False
    scores = [
        (interaction(late, weight, lates, counted) * 25).masked_fill(also_gold, -1e4),
        (vectors @ others.T * 20).masked_fill(also_gold, -1e4),
    ]
    loss = sum((F.cross_entropy(one, target) for one in scores), torch.zeros((), device="cuda"))
    if teacher is not None:
        own = target[:, None] + torch.arange(count, device="cuda")
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
            rows = [pair_row(q, turn) for q, one in zip(asked, lists, strict=True) for turn in one]
            wanted = F.softmax(outputs(teacher, rows)[0].view(len(asked), -1) / recipe.temperature, -1)
        for one in scores:
            loss = loss + F.kl_div(F.log_softmax(one.gather(1, own), -1), wanted, reduction="batchmean")
    return loss


@torch.no_grad()
def mine(model: Encoder, questions: Iterable[Question]) -> None:
    """Take the turns that the model itself ranks highest, and that are not gold, as hard negatives beside BM25's."""
    by_store: dict[int, list[Question]] = defaultdict(list)
    for question in questions:
        by_store[id(question.store)].append(question)
    for mine_ in by_store.values():
        scores = scores_of(model, mine_[0].store, mine_)
        both = scores["cos"] * 20 + scores["late"] * 25
        for question, row in zip(mine_, both, strict=True):
            gold = set(question.gold)
            best = [int(turn) for turn in np.argsort(-row)[: 15 + len(gold)] if int(turn) not in gold][:15]
            question.hard = list(dict.fromkeys([x for pair in zip(best, question.hard, strict=False) for x in pair]))


# Measuring


@torch.no_grad()
def scores_of(model: Encoder, turns: list[Turn], questions: Sequence[Question]) -> dict[str, Any]:
    model.eval()
    with torch.autocast("cuda", torch.bfloat16):
        found = [outputs(model, [turn_row(turn) for turn in turns[at : at + 512]]) for at in range(0, len(turns), 512)]
        asked = model(batch([question_row(q) for q in questions]))
    cos = torch.cat([asked[0] @ one[0].T for one in found], 1)
    late = torch.cat(
        [
            torch.cat([interaction(asked[1][at : at + 8], asked[3][at : at + 8], one[1], one[2]) for one in found], 1)
            for at in range(0, len(questions), 8)
        ]
    )
    return {"cos": cos.float().cpu().numpy(), "late": late.float().cpu().numpy()}


def ndcg(order: Sequence[int], gold: set[int]) -> float:
    best = sum(1 / math.log2(at + 2) for at in range(min(len(gold), 10)))
    return sum(1 / math.log2(at + 2) for at, one in enumerate(order[:10]) if one in gold) / best


def stretched(scores: Any) -> Any:
    return (scores - scores.min()) / max(1e-9, scores.max() - scores.min())


def measure(model: Encoder, stores: Iterable[Store]) -> dict[str, float]:
    rows: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for store in stores:
        if not store.questions:
            continue
        found = scores_of(model, store.turns, store.questions)
        for at, question in enumerate(store.questions):
            words = stretched(question.scores)
            ways = {"cos": found["cos"][at], "late": found["late"][at]}
            ways["sum"] = words + 0.5 * stretched(ways["cos"]) + stretched(ways["late"])
            for way, scores in ways.items():
                order = np.argsort(-scores, kind="stable")[:10]
                rows[way][question.kind].append(ndcg([int(one) for one in order], set(question.gold)))
    return {way: round(100 * float(np.mean([np.mean(x) for x in kinds.values()])), 1) for way, kinds in rows.items()}


def measured(model: Encoder, data: Data, recipe: Recipe) -> dict[str, Any]:
    names = [] if recipe.whole else [*SETS]
    if recipe.look:
        names.append("locomo")
    found: dict[str, Any] = {name: measure(model, data.held(name, recipe)) for name in names}
    real = [name for name in names if name in ("friends", "meetings", "chats", "assistant", "written")]
    if real:
        found["mean"] = {
            way: round(float(np.mean([found[name][way] for name in real])), 2) for way in ("cos", "late", "sum")
        }
    return found


def save(model: Encoder, name: str) -> None:
    """The weights: matrices as 8-bit integers with a scale for each row, the rest in single precision; two files."""
    parts: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for key, value in model.state_dict().items():
        if not value.is_floating_point():
            continue
        numbers = value.detach().float().cpu().numpy()
        mine = parts["embeddings" not in key]
        if numbers.ndim == 2 and min(numbers.shape) > 2:
            scales = np.abs(numbers).max(1, keepdims=True) / 127
            mine[f"{key}.q"] = np.rint(numbers / np.maximum(scales, 1e-12)).astype(np.int8)
            mine[f"{key}.s"] = scales.astype(np.float32)
        else:
            mine[key] = numbers
    for number, part in enumerate(parts):
        np.savez(OUT / f"{name}-{number}.npz", **part)


def main() -> None:
    folder = Path(sys.argv[1])
    data, teachers = Data(folder), {}
    for text in sys.argv[2:]:
        recipe = Recipe.of(text)
        log(text)
        for name in SETS:  # mined negatives are the recipe's own
            for store in data.sets[name]:
                for question in store.questions:
                    question.hard = ORIGINAL.setdefault(id(question), question.hard)
        teacher = None
        if recipe.teacher:
            key = (
                recipe.teacher,
                recipe.teacher_epochs,
                recipe.made_up,
                recipe.assistant,
                recipe.written,
                recipe.whole,
                recipe.fold,
            )
            if key not in teachers:
                torch.manual_seed(recipe.teacher)
                teachers[key] = train_teacher(data, folder, recipe)
            teacher = teachers[key]
        model = train(data, folder, recipe, teacher)
        if recipe.save:
            save(model, recipe.name)
        log("==", recipe.name, json.dumps(measured(model, data, recipe)))


ORIGINAL: dict[int, list[int]] = {}

if __name__ == "__main__":
    main()
