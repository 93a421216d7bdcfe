from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from memwell.errors import BackendError, InvalidInput, NotFound, Unsupported
from memwell.history import History, MediaLimits
from memwell.history.handle import blobs_beside
from memwell.messages import Audio, Image, Media, Text, ToolCall, ToolResult, Video, ai, human, tool_result
from memwell.storage import Backend
from tests.media_files import film, picture, wav

if TYPE_CHECKING:
    from tests.history.conftest import Talker, Watched

PNG = picture("PNG")


def media(history: History) -> list[Media]:
    return [part for message in history for part in message.parts if isinstance(part, Media)]


def blobs(store: Backend) -> int:
    return int(store.facts()["blobs"])


def test_bytes_go_beside_the_conversation_and_come_back(history: History):
    said = human((Text("look"), Image(data=PNG, text="a red square"), Audio(data=wav()), Video(data=film("mp4"))))
    kept = history.with_blobs(said)
    assert (kept.id, kept.text, kept.time) == (said.id, said.text, said.time)
    history.add(kept)
    assert [history.data_of(part) for part in media(history)] == [PNG, wav(), film("mp4")]
    assert [part.data for part in media(history)] == [None, None, None]
    assert [part.media_type for part in media(history)] == ["image/png", "audio/wav", "video/mp4"]
    assert media(history)[0].text == "a red square"


def test_a_message_without_bytes_is_left_alone(history: History, store: Backend):
    said = human((Text("look"), Image(url="https://example.org/a.png")))
    assert history.with_blobs(said) is said
    assert blobs(store) == 0


def test_bytes_in_the_result_of_a_tool_are_moved_too(history: History):
    history.add(human("draw"), ai((), tool_calls=(ToolCall("c", "draw"),)))
    [stored] = history.add(history.with_blobs(tool_result("c", (Text("done"), Image(data=PNG)))))
    result = stored.parts[0]
    assert isinstance(result, ToolResult)
    assert isinstance(result.content[1], Image)
    assert result.content[1].data is None
    assert history.data_of(result.content[1]) == PNG


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (Image(data=b"no picture"), "no image"),
        (Audio(data=PNG), "not audio"),
        (Image(data=PNG, media_type="image/jpeg"), "says image/jpeg"),
        (Image(data=b""), "none"),
    ],
)
def test_bytes_that_are_not_what_they_say_are_refused_with_nothing_stored(
    history: History, store: Backend, part: Image | Audio, said: str
):
    with pytest.raises(InvalidInput, match=said):
        history.with_blobs(human((Image(data=PNG), part)))
    assert blobs(store) == 0


def test_limits_may_be_set(history: History, store: Backend):
    with pytest.raises(InvalidInput, match="over the limit of 10"):
        history.with_blobs(human(Image(data=PNG)), limits=MediaLimits(image_bytes=10))
    assert blobs(store) == 0


def test_bytes_and_message_are_stored_together_or_not_at_all(store: Backend):
    history = History(store, "talk")

    def fail_late() -> None:
        with store.transaction():
            history.add(history.with_blobs(human(Image(data=PNG))))
            raise OSError("now")

    with pytest.raises(OSError, match="now"):
        fail_late()
    assert blobs(store) == len(history) == 0


def test_bytes_go_with_the_conversation(history: History, store: Backend, talk: Talker):
    other = talk("other")
    for one in (history, other):
        one.add(one.with_blobs(human((Image(data=PNG), Image(data=PNG)))))
    assert blobs(store) == 2
    history.delete()
    assert blobs(store) == 1
    assert other.data_of(media(other)[0]) == PNG
    other.delete()
    assert blobs(store) == 0
    assert store.kv.scan(blobs_beside(other.thread)).items == []


def test_bytes_that_were_never_added_go_too(history: History, store: Backend):
    history.with_blobs(human(Image(data=PNG)))
    assert history.delete() is False
    assert blobs(store) == 0


def test_a_copy_has_bytes_of_its_own(history: History, talk: Talker):
    history.add(history.with_blobs(human(Image(data=PNG))))
    history.add_ai("nice")
    history.edit(0, "never mind")
    forked, copied = history.fork("forked"), talk("copied")
    history.copy_to(copied)
    part = copied.versions(0)[0].message
    assert part is not None
    history.delete()
    kept = part.parts[0]
    assert isinstance(kept, Image)
    assert copied.data_of(kept) == PNG
    # The fork has no earlier versions, and so nothing that names the bytes.
    with pytest.raises(NotFound):
        forked.data_of(kept)


def test_what_is_moved_to_another_store_keeps_its_bytes(
    history: History, talk: Talker, opened: Callable[[str], Backend]
):
    history.add(history.with_blobs(human(Image(data=PNG))))
    there = talk("there", store=opened("sqlite"))
    history.move_to(there)
    assert there.data_of(media(there)[0]) == PNG
    assert history.info() is None


def test_bytes_cannot_be_copied_to_a_log_alone(history: History, talk: Talker, opened: Callable[[str], Backend]):
    history.add(history.with_blobs(human(Image(data=PNG))))
    there = talk("there", store=opened("memory").log)
    with pytest.raises(Unsupported, match="copy the conversation to a store"):
        history.move_to(there)
    assert there.info() is None
    assert history.data_of(media(history)[0]) == PNG


def test_a_log_alone_keeps_no_bytes(talk: Talker, watched: Watched):
    history = talk(store=watched)  # pyright: ignore[reportArgumentType]
    with pytest.raises(Unsupported, match="a log alone"):
        history.with_blobs(human(Image(data=PNG)))
    assert history.data_of(Image(data=PNG)) == PNG


def test_data_of_says_why_there_are_none(history: History, store: Backend):
    with pytest.raises(InvalidInput, match=r"example\.org"):
        history.data_of(Image(url="https://example.org/a.png"))
    with pytest.raises(InvalidInput, match="Image, Audio or Video"):
        history.data_of(Text("words"))  # pyright: ignore[reportArgumentType]
    with pytest.raises(NotFound):
        history.data_of(Image(blob="0" * 64))
    with pytest.raises(InvalidInput, match="digest"):
        history.data_of(Image(blob="../../etc/passwd"))


def test_bytes_in_the_space_itself_are_found(history: History, store: Backend):
    digest = store.blobs.put(history.thread.space, PNG)
    assert history.data_of(Image(blob=digest)) == PNG


def test_conversations_do_not_see_each_others_bytes(history: History, talk: Talker, store: Backend):
    kept = history.with_blobs(human(Image(data=PNG))).parts[0]
    assert isinstance(kept, Image)
    for other in (talk("another"), talk(space="away")):
        with pytest.raises(NotFound):
            other.data_of(kept)
    assert store.blobs.get(blobs_beside(history.thread), kept.blob or "") == PNG


def test_a_store_that_fails_stores_nothing(store: Backend, monkeypatch: pytest.MonkeyPatch):
    def fail(*args: object, **options: object) -> None:
        raise BackendError("the disk is full")

    history = History(store, "talk")
    monkeypatch.setattr(store.kv, "put", fail)
    with pytest.raises(BackendError):
        history.with_blobs(human(Image(data=PNG)))
    assert blobs(store) == 0
