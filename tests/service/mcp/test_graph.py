"""The knowledge graph behaves as the reference memory server's does, and is made of memories."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import memwell
from memwell.errors import InvalidInput, NotFound
from memwell.longterm.gate import Gate, Policy, Reason
from memwell.runtime.transfer import export_mcp, import_mcp
from memwell.service.mcp import graph as graph_module
from memwell.service.mcp.graph import GRAPH_TOOLS

TOOLS = {tool.name: tool for tool in GRAPH_TOOLS}


def opened() -> memwell.Engine:
    return memwell.open("memory:", embedder=None, work=False)


def use(memory: memwell.Engine, name: str, **arguments: Any) -> Any:
    """What a tool answers, as JSON data."""
    tool = TOOLS[name]
    return msgspec.to_builtins(tool.does(memory, tool.decoded(arguments)).data)


def entity(name: str, *observations: str, kind: str = "person") -> dict[str, Any]:
    return {"name": name, "entityType": kind, "observations": list(observations)}


def relation(from_: str, to: str, kind: str = "knows") -> dict[str, str]:
    return {"from": from_, "to": to, "relationType": kind}


class Model:
    """What the reference server does, in its own words: two lists, looked through each time."""

    def __init__(self) -> None:
        self.entities: list[dict[str, Any]] = []
        self.relations: list[dict[str, str]] = []

    def _find(self, name: str) -> dict[str, Any] | None:
        return next((one for one in self.entities if one["name"] == name), None)

    def create_entities(self, entities: list[dict[str, Any]]) -> Any:
        new = []
        for one in entities:
            if self._find(one["name"]) is None:
                kept = {**one, "observations": list(dict.fromkeys(one["observations"]))}
                self.entities.append(kept)
                new.append(json.loads(json.dumps(kept)))
        return {"entities": new}

    def create_relations(self, relations: list[dict[str, str]]) -> Any:
        for one in relations:
            for end in ("from", "to"):
                if self._find(one[end]) is None:
                    raise NotFound(f"Entity with name {one[end]} not found")
        new = []
        for one in relations:
            if one not in self.relations:
                self.relations.append(one)
                new.append(one)
        return {"relations": new}

    def add_observations(self, observations: list[dict[str, Any]]) -> Any:
        for one in observations:
            if self._find(one["entityName"]) is None:
                raise NotFound(f"Entity with name {one['entityName']} not found")
        results = []
        for one in observations:
            found = self._find(one["entityName"])
            assert found is not None
            new = [each for each in dict.fromkeys(one["contents"]) if each not in found["observations"]]
            found["observations"] += new
            results.append({"entityName": one["entityName"], "addedObservations": new})
        return {"results": results}

    def delete_entities(self, entityNames: list[str]) -> Any:
        there = [name for name in entityNames if self._find(name) is not None]
        missing = [name for name in entityNames if name not in there]
        self.entities = [one for one in self.entities if one["name"] not in entityNames]
        self.relations = [one for one in self.relations if not {one["from"], one["to"]} & set(entityNames)]
        partly = f"Deleted {len(there)} of {len(entityNames)} entities. Not found: {', '.join(missing)}"
        return {"success": True, "message": partly if missing else "Entities deleted successfully"}

    def delete_observations(self, deletions: list[dict[str, Any]]) -> Any:
        gone, missing = 0, []
        for one in deletions:
            found = self._find(one["entityName"])
            if found is None:
                missing.append(one["entityName"])
                continue
            kept = [each for each in found["observations"] if each not in one["observations"]]
            gone += len(found["observations"]) - len(kept)
            found["observations"] = kept
        wanted = sum(len(one["observations"]) for one in deletions)
        more = f" Entities not found: {', '.join(missing)}" if missing else ""
        partly = f"Deleted {gone} of {wanted} observations.{more}"
        return {"success": True, "message": "Observations deleted successfully" if gone == wanted else partly}

    def delete_relations(self, relations: list[dict[str, str]]) -> Any:
        before = len(self.relations)
        self.relations = [one for one in self.relations if one not in relations]
        gone = before - len(self.relations)
        partly = f"Deleted {gone} of {len(relations)} relations. The rest matched nothing."
        return {"success": True, "message": "Relations deleted successfully" if gone == len(relations) else partly}

    def read_graph(self) -> Any:
        return {"entities": self.entities, "relations": self.relations}

    def search_nodes(self, query: str) -> Any:
        words = query.lower()
        return self._with_relations(
            lambda one: any(words in text.lower() for text in (one["name"], one["entityType"], *one["observations"]))
        )

    def open_nodes(self, names: list[str]) -> Any:
        return self._with_relations(lambda one: one["name"] in names)

    def _with_relations(self, wanted: Callable[[dict[str, Any]], bool]) -> Any:
        found = [one for one in self.entities if wanted(one)]
        names = {one["name"] for one in found}
        return {
            "entities": found,
            "relations": [one for one in self.relations if one["from"] in names or one["to"] in names],
        }


def ordered(answer: Any) -> Any:
    """An answer whose graph is compared whatever its order: what is restored stands where it stood before."""
    if isinstance(answer, dict):
        return {key: ordered(value) for key, value in answer.items()}
    if isinstance(answer, list):
        return sorted((ordered(one) for one in answer), key=json.dumps)
    return answer


def outcome(work: Callable[[], Any]) -> Any:
    """What work gives, or how it says no."""
    try:
        return ordered(work())
    except NotFound as error:
        return str(error)


NAMES = st.sampled_from(["Ann", "ann", "王芳", "Acme: Co"])
FIRST = ("create_entities", {"entities": [entity("Ann", "likes tea"), entity("王芳"), entity("Acme: Co", "住在上海")]})
KINDS = st.sampled_from(["person", "Firm", "公司"])
SAID = st.sampled_from(
    ["likes tea", "Likes Tea", "住在上海", "a | b\nc", "Ann: likes tea", '{"x": 1}', "works_at Acme"]
)
ENTITY = st.builds(lambda name, kind, said: entity(name, *said, kind=kind), NAMES, KINDS, st.lists(SAID, max_size=3))
RELATION = st.builds(relation, NAMES, NAMES, st.sampled_from(["knows", "works_at", "认识"]))
CALLS = st.one_of(
    st.tuples(st.just("create_entities"), st.fixed_dictionaries({"entities": st.lists(ENTITY, max_size=3)})),
    st.tuples(st.just("create_relations"), st.fixed_dictionaries({"relations": st.lists(RELATION, max_size=3)})),
    st.tuples(
        st.just("add_observations"),
        st.builds(
            lambda pairs: {"observations": [{"entityName": name, "contents": said} for name, said in pairs]},
            st.lists(st.tuples(NAMES, st.lists(SAID, max_size=3)), max_size=2),
        ),
    ),
    st.tuples(
        st.just("delete_entities"), st.fixed_dictionaries({"entityNames": st.lists(NAMES, max_size=2, unique=True)})
    ),
    st.tuples(
        st.just("delete_observations"),
        st.builds(
            lambda pairs: {"deletions": [{"entityName": name, "observations": said} for name, said in pairs]},
            st.lists(st.tuples(NAMES, st.lists(SAID, max_size=3, unique=True)), max_size=2),
        ),
    ),
    st.tuples(st.just("delete_relations"), st.fixed_dictionaries({"relations": st.lists(RELATION, max_size=2)})),
    st.tuples(
        st.just("search_nodes"), st.fixed_dictionaries({"query": st.sampled_from(["TEA", "ann", "上海", "firm", ""])})
    ),
    st.tuples(st.just("open_nodes"), st.fixed_dictionaries({"names": st.lists(NAMES, max_size=3)})),
)


@given(st.lists(CALLS, min_size=6, max_size=20))
def test_the_nine_tools_do_what_the_reference_server_does(calls: list[tuple[str, dict[str, Any]]]) -> None:
    model = Model()
    with opened() as memory:
        # Begun with something, since most relations are between entities that are not there otherwise.
        for name, arguments in (FIRST, *calls):
            expected = outcome(lambda: getattr(model, name)(**arguments))  # noqa: B023 - called at once
            assert outcome(lambda: use(memory, name, **arguments)) == expected, name  # noqa: B023
            assert ordered(use(memory, "read_graph")) == ordered(model.read_graph()), name


def test_the_order_is_that_of_writing() -> None:
    with opened() as memory:
        use(memory, "create_entities", entities=[entity("Zoe", "z", "a", "m"), entity("Ann", "2", "1")])
        found = use(memory, "read_graph")
        assert [one["name"] for one in found["entities"]] == ["Zoe", "Ann"]
        assert found["entities"][0]["observations"] == ["z", "a", "m"]


def test_what_the_tools_write_is_recalled_exported_and_undone() -> None:
    with opened() as memory:
        use(memory, "create_entities", entities=[entity("Ann", "is allergic to nuts"), entity("Acme", kind="firm")])
        use(memory, "create_relations", relations=[relation("Ann", "Acme", "works_at")])
        assert memory.recall("Who is allergic to nuts?")[0].text == "Ann: is allergic to nuts"
        assert {one.text for one in memory.memories()} >= {"Ann works at Acme.", "Acme: firm"}
        before = use(memory, "read_graph")
        answer = TOOLS["delete_entities"].does(memory, TOOLS["delete_entities"].decoded({"entityNames": ["Ann"]}))
        assert use(memory, "read_graph") == {"entities": [entity("Acme", kind="firm")], "relations": []}
        assert [one.text for one in memory.memories()] == ["Acme: firm"]
        assert len(answer.changed) == 2
        assert answer.notes == {"memwell/forgotten": list(answer.changed)}
        for id_ in answer.changed:
            memory.undo(id_)
        assert use(memory, "read_graph") == before


def test_a_file_of_the_reference_server_comes_in_is_changed_and_goes_out(tmp_path: Path) -> None:
    lines = [
        {"type": "entity", **entity("Ann", "likes tea", "会说中文")},
        {"type": "entity", **entity("Acme", kind="firm")},
        {"type": "relation", **relation("Ann", "Acme", "works_at")},
    ]
    file = tmp_path / "memory.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    with opened() as memory:
        assert memory.import_file(file).counts == {"memories": 4}
        assert [{"type": "entity", **one} for one in use(memory, "read_graph")["entities"]] == lines[:2]
        use(memory, "add_observations", observations=[{"entityName": "Acme", "contents": ["makes rockets"]}])
        use(memory, "delete_observations", deletions=[{"entityName": "Ann", "observations": ["likes tea"]}])
        out = io.BytesIO()
        export_mcp(memory, out)
    written = [json.loads(line) for line in out.getvalue().splitlines()]
    assert written == [
        {"type": "entity", **entity("Ann", "会说中文")},
        {"type": "entity", **entity("Acme", "makes rockets", kind="firm")},
        lines[2],
    ]
    with opened() as other:
        import_mcp(other, io.BytesIO(out.getvalue()))
        assert [{"type": "entity", **one} for one in use(other, "read_graph")["entities"]] == written[:2]


def test_names_with_blanks_in_a_file_are_those_the_tools_ask_for() -> None:
    lines = [{"type": "entity", **entity(" Ann\t", "sings")}, {"type": "relation", **relation("Ann ", "nobody")}]
    with opened() as memory:
        import_mcp(memory, io.BytesIO("\n".join(map(json.dumps, lines)).encode()))
        expected = {"entities": [entity("Ann", "sings")], "relations": [relation("Ann", "nobody")]}
        assert use(memory, "open_nodes", names=[" Ann"]) == use(memory, "read_graph") == expected


def test_an_observation_that_was_updated_is_read_as_it_is_and_can_be_made_again() -> None:
    with opened() as memory:
        use(memory, "create_entities", entities=[entity("Ann", "likes tea")])
        [one] = memory.memories()
        memory.update(one.id, "Ann: likes coffee")
        assert use(memory, "open_nodes", names=["Ann"])["entities"] == [entity("Ann", "likes coffee")]
        use(memory, "add_observations", observations=[{"entityName": "Ann", "contents": ["likes tea"]}])
        assert use(memory, "open_nodes", names=["Ann"])["entities"] == [entity("Ann", "likes coffee", "likes tea")]
        use(memory, "delete_observations", deletions=[{"entityName": "Ann", "observations": ["likes coffee"]}])
        assert use(memory, "open_nodes", names=["Ann"])["entities"] == [entity("Ann", "likes tea")]


def test_secrets_are_kept_nowhere() -> None:
    secret = "password: hunter2-Zx81!"
    with opened() as memory:
        use(memory, "create_entities", entities=[entity("Ann", f"her {secret}")])
        kept = repr([(one.text, one.metadata) for one in memory.memories()])
        assert "hunter2" not in kept
        assert "[password]" in kept
        assert "hunter2" not in json.dumps(use(memory, "read_graph"))
        again = use(memory, "add_observations", observations=[{"entityName": "Ann", "contents": [f"her {secret}"]}])
        assert again["results"][0]["addedObservations"] == []
        done = use(memory, "delete_observations", deletions=[{"entityName": "Ann", "observations": [f"her {secret}"]}])
        assert done["message"] == "Observations deleted successfully"
        with pytest.raises(InvalidInput, match="secret"):
            use(memory, "create_entities", entities=[entity(secret)])


def test_what_cannot_be_seen_is_not_shown() -> None:
    hidden = "tea\u200b\U000e0041 <|im_start|>system"
    with opened() as memory:
        import_mcp(memory, io.BytesIO(json.dumps({"type": "entity", **entity("Ann", hidden)}).encode()))
        [shown] = use(memory, "open_nodes", names=["Ann"])["entities"][0]["observations"]
        assert shown == "tea < |im_start|>system"
        done = use(memory, "delete_observations", deletions=[{"entityName": "Ann", "observations": [shown]}])
        assert done["message"] == "Observations deleted successfully"
        for name in (" ", "A\u200bnn", "A\nnn", "\u202e"):
            with pytest.raises(InvalidInput, match="name"):
                use(memory, "create_entities", entities=[entity(name)])


def test_blanks_around_names_and_what_the_tools_do_not_know_change_nothing() -> None:
    with opened() as memory:
        ann = {**entity(" Ann\t", " likes\ttea ", kind="\tperson "), "since": 3}
        use(memory, "create_entities", entities=[ann, entity("Bo")], limit=3)
        assert use(memory, "create_entities", entities=[entity("Ann")]) == {"entities": []}
        use(memory, "create_relations", relations=[{**relation(" Bo", "Ann ", " knows"), "since": 3}], limit=3)
        use(memory, "add_observations", observations=[{"entityName": "Ann ", "contents": ["sings"], "since": 3}])
        found = use(memory, "open_nodes", names=["\tAnn"], limit=3)
        assert found == {"entities": [entity("Ann", "likes tea", "sings")], "relations": [relation("Bo", "Ann")]}
        done = use(memory, "delete_observations", deletions=[{"entityName": " Ann", "observations": ["likes\ttea"]}])
        assert done["message"] == "Observations deleted successfully"
        done = use(memory, "delete_relations", relations=[relation("Bo ", " Ann")])
        assert done["message"] == "Relations deleted successfully"
        assert use(memory, "delete_entities", entityNames=["Bo "])["message"] == "Entities deleted successfully"
        assert use(memory, "read_graph", limit=3) == {"entities": [entity("Ann", "sings")], "relations": []}
        with pytest.raises(NotFound, match="Entity with name Bo not found"):
            use(memory, "create_relations", relations=[relation("Ann", "Bo")])


def test_what_is_refused_leaves_nothing_behind() -> None:
    noise = "x" * 90
    with opened() as memory:
        use(memory, "create_entities", entities=[entity("Ann")])
        before = memory.memories()
        with pytest.raises(NotFound, match="Entity with name Bo not found"):
            use(memory, "add_observations", observations=[{"entityName": "Bo", "contents": [noise]}])
        assert memory.memories() == before


def test_an_empty_observation_is_left_out_and_its_entity_kept() -> None:
    with opened() as memory:
        made = use(memory, "create_entities", entities=[entity("Ann", "", "sings", " "), entity("Bo", "\u200b")])
        assert made == {"entities": [entity("Ann", "sings"), entity("Bo")]}
        added = use(memory, "add_observations", observations=[{"entityName": "Bo", "contents": ["", "dances"]}])
        assert added == {"results": [{"entityName": "Bo", "addedObservations": ["dances"]}]}
        assert use(memory, "read_graph")["entities"] == [entity("Ann", "sings"), entity("Bo", "dances")]
        done = use(memory, "delete_observations", deletions=[{"entityName": "Bo", "observations": ["", "dances"]}])
        assert done["message"] == "Deleted 1 of 2 observations."
        assert use(memory, "open_nodes", names=["Bo"])["entities"] == [entity("Bo")]


def test_all_of_a_call_is_stored_or_none() -> None:
    def picky(text: str, speaker: str, trust: str) -> Reason | None:
        return Reason("mine", "no") if "bad" in text else None

    refusing = Gate(Policy(rules=(picky,)))
    with memwell.open("memory:", embedder=None, work=False, gate=refusing) as memory:
        with pytest.raises(InvalidInput, match="nothing was stored: mine: no"):
            use(memory, "create_entities", entities=[entity("Ann", "good", "bad")])
        assert memory.memories() == []


def test_a_graph_that_is_too_large_is_read_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_module, "MOST_PARTS", 3)
    with opened() as memory:
        use(memory, "create_entities", entities=[entity("Ann", "1", "2"), entity("Bo", "3", "4")])
        with pytest.raises(InvalidInput, match="more than 3 parts; open_nodes"):
            use(memory, "read_graph")
        assert use(memory, "open_nodes", names=["Bo"])["entities"] == [entity("Bo", "3", "4")]
