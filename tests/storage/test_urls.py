"""URLs as they are shown: whoever reads one learns no password, whatever characters are in it."""

from __future__ import annotations

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memwell.storage.urls import without_secrets

MARK = "Tr0ub4dor"
"""Stands at the beginning, in the middle and at the end of each password, and nowhere else."""

_hostile = st.text(st.sampled_from("/#?@:,=& %[]'\"\\;\n·秘" + string.digits), max_size=8)
passwords = st.builds(lambda one, two: f"{MARK}{one}{MARK}{two}{MARK}", _hostile, _hostile)
hosts = st.sampled_from(["db", "db.example:5432", "[::1]:6379", "a:1,b:2", "127.0.0.1"])
schemes = st.sampled_from(["postgresql", "postgres", "redis", "rediss", "redis+cluster", "milvus", "http", "other"])
users = st.sampled_from(["", "memwell", "o'hara"])


@given(schemes, users, passwords, hosts)
@example("postgresql", "", f"{MARK}{MARK}://{MARK}", "db")
def test_a_password_with_any_characters_is_not_shown(scheme: str, user: str, password: str, host: str):
    shown = without_secrets(f"{scheme}://{user}:{password}@{host}/name?schema=mine")
    assert MARK not in shown
    assert shown == f"{scheme}://{user}:***@{host}/name?schema=mine"
    # Without a colon it is a token, but for PostgreSQL, where it is a name.
    if not scheme.startswith("postgres"):
        assert MARK not in without_secrets(f" {scheme}://{password.replace(':', '')}@{host}/0")
    assert MARK not in without_secrets(f"{scheme}:{user}:{password}@{host}/0")


@given(schemes, users, passwords)
def test_a_password_is_not_shown_where_the_server_was_left_out(scheme: str, user: str, password: str):
    # Behind an @ stands the server's name, and nobody can tell that it is none.
    assert MARK not in without_secrets(f"{scheme}://{user}:{password.replace('@', '')}")


@given(schemes, hosts, passwords, st.sampled_from(["password", "PASSWORD", "sslpassword", "token", "api_key"]))
def test_a_password_in_the_query_is_not_shown(scheme: str, host: str, password: str, name: str):
    assert MARK not in without_secrets(f"{scheme}://{host}/name?{name}={password}")
    assert MARK not in without_secrets(f"{scheme}://me@{host}/name?a=b&{name}={password}&schema=mine")


@given(users, passwords, passwords)
def test_no_part_shows_its_password(user: str, first: str, second: str):
    shown = without_secrets(f"postgresql://{user}:{first}@db/name,log=redis://:{second}@cache,index=milvus:v.db")
    assert shown == f"postgresql://{user}:***@db/name,log=redis://:***@cache,index=milvus:v.db"


@pytest.mark.parametrize(
    "url",
    [
        "memwell.db", "memory:", "sqlite:a:b@c.db", "postgresql:///name", "postgresql://memwell@db/name",
        "postgresql://db:5432/name?schema=mine&sslmode=require", "postgresql://a:1,b:2/name", "redis://[::1]:6379/0",
        "redis+cluster://a:1,b:2,c:3", "sqlite:memwell.db,index=milvus:copy.db", "http://127.0.0.1:7411",
    ],
)  # fmt: skip
def test_what_has_no_secret_is_shown_as_it_is(url: str):
    assert without_secrets(url) == url
