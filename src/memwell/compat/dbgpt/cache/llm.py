"""A cache of what models answered."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, cast

import msgspec

from memwell._asyncify import blocking
from memwell.compat.dbgpt.cache.clients import CacheClient, CacheManager, check_value, manager_of
from memwell.compat.dbgpt.cache.keys import CacheConfig, CacheKey, CacheValue, FieldsKey
from memwell.compat.dbgpt.cache.storage import CacheStorage
from memwell.compat.dbgpt.serialization import JsonSerializer, Serializer
from memwell.errors import InvalidInput
from memwell.values import shown


@dataclass
class ModelOutput:
    """What a model answered: its text (or other content as plain data), and 0 as ``error_code`` when all went well.

    Raises ``InvalidInput`` for both a text and a content, or neither.
    """

    error_code: int
    text: str | None = None
    content: Any = None
    incremental: bool = False
    model_context: dict[str, Any] | None = None
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    metrics: Any = None

    def __post_init__(self) -> None:
        if self.text is not None and self.content is not None:
            raise InvalidInput("Cannot pass both text and content")
        if self.text is None and self.content is None:
            raise InvalidInput("Must pass either text or content")

    @property
    def success(self) -> bool:
        """Whether the model answered."""
        return self.error_code == 0

    def to_dict(self) -> dict[str, Any]:
        """The output as plain data, from which it can be made again."""
        fields = dict(vars(self))
        if self.content is None:
            del fields["content"]
        return fields


CacheOutputType: TypeAlias = ModelOutput | list[ModelOutput]


class LLMCacheKeyData(msgspec.Struct, frozen=True):
    """What was asked of which model. Raises ``InvalidInput`` for a prompt that is no text and a number that is none."""

    prompt: str
    model_name: str
    temperature: float | None = 0.7
    max_new_tokens: int | None = None
    top_p: float | None = 1.0
    model_type: str | None = "huggingface"

    def __post_init__(self) -> None:
        if not isinstance(self.prompt, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"a prompt must be a string, not {shown(self.prompt)}")
        for number in (self.temperature, self.max_new_tokens, self.top_p):
            if number is not None and not _is_finite(number):
                raise InvalidInput(f"temperature, max_new_tokens and top_p must be numbers, not {shown(number)}")


def _is_finite(number: object) -> bool:
    return isinstance(number, int | float) and math.isfinite(number)


class LLMCacheKey(FieldsKey[LLMCacheKeyData]):
    """The key of a model's answer; two prompts can be similar when everything else is equal."""

    text_field: ClassVar[str | None] = "prompt"

    def __init__(self, **kwargs: Any) -> None:
        try:
            super().__init__(LLMCacheKeyData(**kwargs))
        except TypeError as error:
            raise InvalidInput(f"an LLMCacheKey cannot be made so: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """The fields."""
        return msgspec.structs.asdict(self.config)


@dataclass
class LLMCacheValueData:
    """One output, or the list of outputs of a stream."""

    output: CacheOutputType
    user: str | None = None
    _is_list: bool = False

    @staticmethod
    def from_dict(**kwargs: Any) -> LLMCacheValueData:
        """A value of these fields, outputs as objects or as plain data. Raises ``InvalidInput`` without an output."""
        fields = dict(kwargs)
        output: Any = fields.pop("output", None)
        if not output:
            raise InvalidInput("Can't new LLMCacheValueData object, output is None")
        fields.pop("_is_list", None)
        try:
            if isinstance(output, list | tuple):
                outputs = [_output(one) for one in cast("Sequence[object]", output)]
                return LLMCacheValueData(outputs, _is_list=True, **fields)
            return LLMCacheValueData(_output(output), **fields)
        except TypeError as error:
            raise InvalidInput(f"an LLMCacheValue cannot be made so: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """The value as plain data."""
        output = self.output
        data: Any = [one.to_dict() for one in output] if isinstance(output, list) else output.to_dict()
        return {"output": data, "_is_list": self.is_list, "user": self.user}

    @property
    def is_list(self) -> bool:
        """Whether it is the list of a stream."""
        return isinstance(self.output, list)


def _output(given: object) -> ModelOutput:
    if isinstance(given, ModelOutput):
        return given
    if isinstance(given, Mapping):
        return ModelOutput(**cast("Mapping[str, Any]", given))
    to_dict: Any = getattr(given, "to_dict", None)
    if callable(to_dict):
        # A model output of another library with the same fields.
        return ModelOutput(**cast("Mapping[str, Any]", to_dict()))
    raise InvalidInput(f"an output must be a ModelOutput or a mapping, not {shown(given)}")


class LLMCacheValue(CacheValue[LLMCacheValueData]):
    """What a model answered. Raises ``InvalidInput`` without an output."""

    _serializer: Serializer | None = JsonSerializer()

    def __init__(self, **kwargs: Any) -> None:
        self.value = LLMCacheValueData.from_dict(**kwargs)

    def to_dict(self) -> dict[str, Any]:
        """The value as plain data."""
        return self.value.to_dict()

    def get_value(self) -> LLMCacheValueData:
        """The output and for whom it was."""
        return self.value

    def __str__(self) -> str:
        return f"value: {self.value}"


def is_success_model_output(output: Any) -> bool:
    """Whether a model answered: an output, plain data of one, or the last one of a list has no error code."""
    if not output:
        return False
    last: Any = cast("Sequence[Any]", output)[-1] if isinstance(output, list | tuple) else output
    code = cast("Mapping[str, Any]", last).get("error_code", 0) if isinstance(last, Mapping) else last.error_code
    return code in (0, "0")


class LLMCacheClient(CacheClient[LLMCacheKeyData, LLMCacheValueData]):
    """A cache of models' answers over a manager, or over a storage. An answer that failed is not kept."""

    def __init__(self, cache_manager: CacheManager | CacheStorage | None = None) -> None:
        self._manager = manager_of(cache_manager)

    async def get(
        self, key: CacheKey[LLMCacheKeyData], cache_config: CacheConfig | None = None
    ) -> LLMCacheValue | None:
        """The answer to a key, or None."""
        return await self._manager.get(key, LLMCacheValue, cache_config)

    async def set(
        self,
        key: CacheKey[LLMCacheKeyData],
        value: CacheValue[LLMCacheValueData],
        cache_config: CacheConfig | None = None,
    ) -> None:
        """Keep an answer, unless the model failed. Raises ``InvalidInput`` for what is no answer."""
        check_value(value)
        answer = value.get_value()
        if not isinstance(answer, LLMCacheValueData):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"a client of answers keeps an LLMCacheValue, not {shown(value)}")
        if is_success_model_output(answer.output):
            await self._manager.set(key, value, cache_config)

    async def exists(self, key: CacheKey[LLMCacheKeyData], cache_config: CacheConfig | None = None) -> bool:
        """Whether there is an answer."""
        return await self.get(key, cache_config) is not None

    def new_key(self, **kwargs: Any) -> LLMCacheKey:
        """A key of these fields. Raises ``InvalidInput`` for fields that are no key."""
        key = LLMCacheKey(**kwargs)
        key.set_serializer(self._manager.serializer)
        return key

    def new_value(self, **kwargs: Any) -> LLMCacheValue:
        """A value of these fields. Raises ``InvalidInput`` for fields that are no value."""
        value = LLMCacheValue(**kwargs)
        value.set_serializer(self._manager.serializer)
        return value

    get_sync = blocking(get)
    set_sync = blocking(set)  # noqa: A003  (the method above)
    exists_sync = blocking(exists)


__all__ = [
    "CacheOutputType",
    "LLMCacheClient",
    "LLMCacheKey",
    "LLMCacheKeyData",
    "LLMCacheValue",
    "LLMCacheValueData",
    "ModelOutput",
    "is_success_model_output",
]
