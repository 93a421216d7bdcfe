"""Settings come from defaults, a file and the environment, and what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from memwell.errors import ConfigurationError
from memwell.settings import Settings, load_settings


def test_the_environment_wins_over_the_file(tmp_path: Path):
    file = tmp_path / "memwell.toml"
    file.write_text('url = "file.db"\nhnsw_above = 5\nbusy_timeout_s = 1\n')
    found = load_settings({"MEMWELL_SETTINGS": str(file), "MEMWELL_HNSW_ABOVE": "7"})
    assert (found.url, found.hnsw_above, found.busy_timeout_s) == ("file.db", 7, 1.0)


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"), ({"LANG": "zh_CN.UTF-8"}, "zh"), ({"LANG": "zh_CN.UTF-8", "LC_ALL": "de_DE"}, "en"),
        ({"LC_MESSAGES": "zh_TW"}, "zh"), ({"LANG": "zh_CN", "MEMWELL_LANGUAGE": "en"}, "en"),
        *(({"MEMWELL_LANGUAGE": given}, "zh") for given in ("zh", "zh-CN", "zh_TW.UTF-8", "ZH")),
    ],
)  # fmt: skip
def test_the_language_is_that_of_the_terminal_unless_chosen(environment: dict[str, str], language: str):
    assert load_settings(environment).language == language


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("hnsw_above = 'many'", "hnsw_above"), ("unknown = 1", "unknown"), ("= = =", "TOML"), ("\udcff", "TOML"),
        ("serve_hosts = [1]", "serve_hosts"), ("serve_hosts = 1", "serve_hosts"), ('url = ["a"]', "url"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_named(tmp_path: Path, content: str, says: str):
    file = tmp_path / "memwell.toml"
    file.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(ConfigurationError) as raised:
        load_settings({"MEMWELL_SETTINGS": str(file)})
    assert says in str(raised.value)


def test_a_missing_file_and_a_wrong_variable_are_named(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="cannot read"):
        load_settings({"MEMWELL_SETTINGS": str(tmp_path / "missing.toml")})
    with pytest.raises(ConfigurationError, match="vector_cache_mb"):
        load_settings({"MEMWELL_VECTOR_CACHE_MB": "much"})


@pytest.mark.parametrize("given", ["fr", "english", "zhuyin", "-"])
def test_an_unknown_language_is_refused_with_the_known_ones(given: str, tmp_path: Path):
    (tmp_path / "memwell.toml").write_text(f'language = "{given}"\n')
    for environment in ({"MEMWELL_LANGUAGE": given}, {"MEMWELL_SETTINGS": str(tmp_path / "memwell.toml")}):
        with pytest.raises(ConfigurationError, match=r"MEMWELL_LANGUAGE.*known languages: en, zh") as raised:
            load_settings(environment)
        assert repr(given) in str(raised.value)


@pytest.fixture
def warned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memwell.settings._warned", set[str]())


@pytest.mark.usefixtures("warned")
def test_a_variable_that_sets_nothing_is_warned_of_once(caplog: pytest.LogCaptureFixture):
    environment = {"MEMWELL_SERVE_THREDS": "2", "MEMWELL_XYZZY": "1", "MEMWELL_URL": "a.db", "OTHER_URL": "b"}
    for _ in range(2):
        with caplog.at_level("WARNING", logger="memwell.settings"):
            assert load_settings(environment).serve_threads == 8
    assert [record.getMessage() for record in caplog.records] == [
        "MEMWELL_SERVE_THREDS sets nothing; did you mean MEMWELL_SERVE_THREADS?",
        "MEMWELL_XYZZY sets nothing",
    ]


@pytest.mark.usefixtures("warned")
def test_what_is_known_is_not_warned_of(caplog: pytest.LogCaptureFixture, tmp_path: Path):
    (tmp_path / "memwell.toml").write_text("")
    known = {f"MEMWELL_{name.upper()}": "1" for name in Settings.__struct_fields__ if name != "language"}
    load_settings(known | {"MEMWELL_LANGUAGE": "zh", "MEMWELL_SETTINGS": str(tmp_path / "memwell.toml")})
    assert caplog.records == []


@pytest.mark.parametrize("given", ['["a.example", "b.example"]', '"a.example,b.example"'])
def test_names_may_be_listed_or_stand_between_commas(given: str, tmp_path: Path):
    file = tmp_path / "memwell.toml"
    file.write_text(f"serve_hosts = {given}\nserve_origins = {given}\n")
    found = load_settings({"MEMWELL_SETTINGS": str(file)})
    assert found.serve_hosts == found.serve_origins == "a.example,b.example"


@pytest.mark.parametrize("name", ["MEMWELL_SECRET", "MEMWELL_SECRET_FILE"])
def test_a_secret_that_was_never_filled_in_is_refused(name: str):
    with pytest.raises(ConfigurationError, match=f"{name} is empty"):
        load_settings({name: ""})
