"""Messages to and from plain text and the shapes of two APIs: OpenAI's Chat Completions and Anthropic's Messages.

Every function is pure: it changes nothing it is given, and what it returns shares nothing with it. A message kept from
models (``hidden``, or of role ``view``) never goes out, except in a text when asked. What a shape has no place for
(ids, times, metadata, captions, cache hints, citations) stays behind. A block that memwell does not interpret is kept
as an ``Opaque`` part whose kind begins with its provider, such as ``anthropic.thinking``: that provider gets it back
unchanged, the other never sees it.
"""

from memwell.transcript.anthropic import from_anthropic, to_anthropic
from memwell.transcript.openai import from_openai, to_openai
from memwell.transcript.text import from_text, to_text

__all__ = ["from_anthropic", "from_openai", "from_text", "to_anthropic", "to_openai", "to_text"]
