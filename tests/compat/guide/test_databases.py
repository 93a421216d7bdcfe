from __future__ import annotations

import ast
import itertools
import json

import pytest

from memwell.compat.guide.databases import VectorDatabaseComparison
from memwell.errors import InvalidInput

USES = ("原型开发", "生产环境", "企业应用", "实时应用", "边缘设备", "Production", "enterprise", "edge")
SCALES = ("小", "中", "大", "small", "Medium", "large")


def test_every_use_and_scale_has_a_database_with_details_reason_and_guide():
    comparison = VectorDatabaseComparison()
    for use, scale in itertools.product(USES, SCALES):
        found = comparison.get_recommendation(use, scale)
        assert found["details"] == comparison.databases[found["database"]], (use, scale)
        assert found["reason"], (use, scale)
        assert found["alternatives"], (use, scale)
        assert found["database"] not in found["alternatives"], (use, scale)
        assert set(found["alternatives"]) <= set(comparison.databases), (use, scale)
        assert json.loads(json.dumps(found, ensure_ascii=False)) == found, (use, scale)


def test_a_use_means_the_same_in_both_languages():
    comparison = VectorDatabaseComparison()
    assert comparison.get_recommendation("production", "medium") == comparison.get_recommendation("生产环境", "中")


@pytest.mark.parametrize(("use", "scale"), [("写诗", "中"), ("生产环境", "巨大"), ("", ""), (None, "中")])
def test_what_is_not_known_is_an_error_and_not_a_guess(use: str, scale: str):
    with pytest.raises(InvalidInput, match="known: "):
        VectorDatabaseComparison().get_recommendation(use, scale)


def test_every_database_has_a_guide_and_the_python_of_it_is_python():
    comparison = VectorDatabaseComparison()
    for name in comparison.databases:
        guide = comparison.get_setup_guide(name)
        assert "pip install" in guide
        if "CREATE" not in guide:
            assert ast.parse(guide).body, name
    with pytest.raises(InvalidInput, match="no set-up guide for 'Nobody'"):
        comparison.get_setup_guide("Nobody")


def test_what_one_adds_another_does_not_see():
    VectorDatabaseComparison().databases["Chroma"]["features"].clear()
    assert VectorDatabaseComparison().databases["Chroma"]["features"]
