from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.langchain import PromptTemplate
from memwell.compat.langchain.prompts import SUMMARY_PROMPT, filled
from memwell.errors import InvalidInput


@given(st.text(), st.text(), st.text())
def test_blanks_are_filled_and_the_rest_is_kept(before: str, between: str, value: str) -> None:
    def escaped(text: str) -> str:
        return text.replace("{", "{{").replace("}", "}}")

    prompt = PromptTemplate(["a", "b"], f"{escaped(before)}{{a}}{escaped(between)}{{b}}")
    assert prompt.format(a=value, b="{a}") == f"{before}{value}{between}{{a}}"
    assert prompt.input_variables == ["a", "b"]


def test_blanks_are_read_off_the_text() -> None:
    assert PromptTemplate.from_template("{b} and {a} and {b}").input_variables == ["a", "b"]
    assert PromptTemplate(["x"], "{a}").input_variables == ["a"]


@pytest.mark.parametrize("template", ["{", "}", "{a.b}", "{a[0]}", "{}", "{0}"])
def test_what_is_no_template(template: str) -> None:
    with pytest.raises(InvalidInput):
        PromptTemplate(None, template)


def test_only_f_strings() -> None:
    with pytest.raises(InvalidInput, match="jinja2"):
        PromptTemplate(None, "{{ a }}", template_format="jinja2")


def test_a_blank_without_a_value() -> None:
    with pytest.raises(KeyError, match="a"):
        PromptTemplate(None, "{a}").format(b="x")


def test_filled_gives_a_prompt_what_it_has_blanks_for() -> None:
    assert filled(PromptTemplate(None, "{a}!"), a="x", b="y") == "x!"
    assert "Oslo" in filled(SUMMARY_PROMPT, summary="", new_lines="Human: Oslo", text="other")
