"""What of a page nobody comes to read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.knowledge.reading.boilerplate import has_name, has_role, is_hidden
from memwell.knowledge.reading.tags import Tag


@pytest.mark.parametrize(
    ("source", "hidden"),
    [
        (" hidden", True), (" HIDDEN", True), (" aria-hidden=true", True), (" aria-hidden=false", False),
        (' style="display:none"', True), (' STYLE="color:red;visibility: hidden"', True),
        (' style="--display:none"', False), (' style="overflow:hidden"', False), (' title="display:none"', False),
    ],
)  # fmt: skip
def test_what_is_not_shown(source: str, hidden: bool):
    assert is_hidden(Tag("div", source=source)) == hidden


@given(
    st.sampled_from(["nav", "menu", "cookie", "footer"]),
    st.text("abcxyz", min_size=1, max_size=4),
    st.sampled_from("-_ "),
)
def test_a_name_counts_as_a_word_and_not_inside_one(name: str, other: str, between: str):
    assert has_name(Tag("div", source=f' class="{other}{between}{name}"'))
    assert has_name(Tag("div", source=f' class="x{name.capitalize()}"'))
    assert not has_name(Tag("div", source=f' class="{other}{name}"'))
    assert not has_name(Tag("div", source=f' class="has-{name}"'))
    assert not has_name(Tag("h2", source=f' class="{name}" id="{name}"'))
    assert not has_name(Tag("section", source=f' id="{name}"'))


def test_roles_are_told_in_any_case():
    assert has_role(Tag("div", source=' ROLE=" Navigation "'))
    assert not has_role(Tag("div", source=' role="main" title="navigation"'))
