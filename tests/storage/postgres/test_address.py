"""URLs: what is ours, what is the driver's, and what is never shown."""

from __future__ import annotations

import pytest

from memwell.errors import ConfigurationError
from memwell.storage.postgres.address import address_of


def test_what_is_ours_is_taken_out_and_the_rest_is_the_drivers():
    address = address_of(
        "postgresql://me:p%40ss@db.example:6432/stuff?schema=mine&prepare=no&durable=yes&sslmode=require"
    )
    assert (address.schema, address.pooled, address.vouched) == ("mine", True, True)
    assert address.parameters == {
        "user": "me",
        "password": "p@ss",
        "host": "db.example",
        "port": "6432",
        "dbname": "stuff",
        "sslmode": "require",
    }
    assert address.shown == "postgresql://db.example:6432/stuff?schema=mine"


def test_without_more_it_is_the_schema_memwell_on_a_server_that_is_spoken_to_directly():
    address = address_of("postgresql://localhost/stuff")
    assert (address.schema, address.pooled, address.vouched) == ("memwell", False, False)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hunter2@host/db?nonsense=1",
        "postgresql://me:hunter2@host/db?prepare=perhaps",
        "postgresql://me:hunter2%zz@host/db",
    ],
)
def test_a_url_that_cannot_be_read_is_refused_without_its_secrets(url: str):
    with pytest.raises(ConfigurationError) as caught:
        address_of(url)
    assert "hunter2" not in str(caught.value)


def test_a_parameter_that_nobody_knows_is_named_with_those_that_are_known():
    with pytest.raises(ConfigurationError, match=r"unknown parameter 'shema'.*schema, prepare, durable"):
        address_of("postgresql://me:hunter2@host/db?shema=x")
    assert address_of("postgresql://a:1,b:2/db?application_name=x%40y&sslmode=require").parameters["host"] == "a,b"


@pytest.mark.parametrize("character", "/#?@[")
def test_a_character_of_the_password_that_must_be_escaped_is_told_so(character: str):
    for password in (f"hun{character}ter2", f"1{character}ter2", f"{character}ter2"):
        with pytest.raises(ConfigurationError, match="%-escapes") as caught:
            address_of(f"postgresql://me:{password}@host/db")
        assert "ter2" not in str(caught.value)
        escaped = password.replace(character, f"%{ord(character):02X}")
        assert address_of(f"postgresql://me:{escaped}@host/db").parameters["password"] == password
