"""Pictures, sounds and films in a memory, as its users meet them."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from memwell.errors import FileError, InvalidInput, NotFound
from memwell.longterm.gate import Gate, Policy
from memwell.longterm.media import (
    MediaItem,
    MediaLimits,
    MediaMemory,
)
from memwell.longterm.memory import Memory
from memwell.longterm.traits import blobs_space, traits_of
from memwell.models.scripted import HashEmbedder
from memwell.records import as_vector, pack_half
from memwell.storage import Backend, open_backend
from tests.media_files import FILMS, claiming, film, picture, sound, wav

PNG = picture("PNG")
WHERE = "not in this store: import the .jsonl export of the store it came from"


@pytest.fixture
def media(backend: Backend) -> MediaMemory:
    return MediaMemory(Memory(backend, "ann", embedder=HashEmbedder(64)))


def facts(media: MediaMemory) -> dict[str, int]:
    """How much there is of everything in the store."""
    counts = media.memory.backend.facts()
    return {key: int(counts[key]) for key in ("messages", "records", "blobs")}


def found(items: list[MediaItem]) -> list[str]:
    return [item.id for item in items]


def beside(backend: Backend, space: str = "ann") -> MediaMemory:
    return MediaMemory(Memory(backend, space, embedder=HashEmbedder(64)))


# What was written about, without bytes.


def test_media_that_are_only_described_are_found_by_their_words(media: MediaMemory):
    chart = media.add(
        kind="image",
        description="用户分享的算法对比图表",
        features=["决策树", "神经网络", "SVM"],
        session="session_001",
    )
    voice = media.add(
        kind="audio", transcript="我想了解不同机器学习算法的优缺点", sentiment="curious", session="session_001"
    )
    assert (chart.description, chart.features, chart.sentiment) == (
        "用户分享的算法对比图表",
        ("决策树", "神经网络", "SVM"),
        None,
    )
    assert (voice.transcript, voice.sentiment, voice.size) == ("我想了解不同机器学习算法的优缺点", "curious", 0)
    assert found(media.recall("神经网络", limit=1)) == [chart.id]
    assert found(media.recall("SVM", limit=1)) == [chart.id]
    assert found(media.recall("优缺点", limit=1)) == [voice.id]
    assert media.get(chart.id) == chart
    with pytest.raises(NotFound, match="only described"):
        media.data(chart.id)
    assert media.thumbnail(chart.id) is None


def test_what_is_only_described_needs_a_kind_and_words(media: MediaMemory):
    with pytest.raises(InvalidInput, match="kind"):
        media.add(description="a chart")
    with pytest.raises(InvalidInput, match="a description, a transcript or features"):
        media.add(kind="image")
    with pytest.raises(InvalidInput, match="image, audio, video"):
        media.add(kind="smell", description="roses")
    assert facts(media) == {"messages": 0, "records": 0, "blobs": 0}


@pytest.mark.parametrize("format_", ["PNG", "JPEG", "GIF", "WEBP", "BMP"])
def test_a_picture_is_kept_with_its_bytes_and_a_thumbnail(media: MediaMemory, format_: str):
    data = picture(format_, (600, 300))
    item = media.add(data, description="a red square", name=f"red.{format_.lower()}", metadata={"album": 7})
    assert (item.kind, item.media_type, item.width, item.height) == ("image", f"image/{format_.lower()}", 600, 300)
    assert (item.size, item.metadata, item.warnings, item.has_thumbnail) == (len(data), {"album": 7}, (), True)
    assert media.data(item.id) == data
    small = Image.open(io.BytesIO(media.thumbnail(item.id) or b""))
    assert (small.format, small.size) == ("JPEG", (256, 128))
    colour: Any = small.getpixel((9, 9))
    assert abs(colour[0] - 200) < 12


def test_a_sound_is_kept_with_its_length_and_its_wave(media: MediaMemory):
    item = media.add(wav(1.5), transcript="I am so happy, this is wonderful!")
    assert (item.kind, item.media_type, item.duration_s) == ("audio", "audio/wav", 1.5)
    assert isinstance(item.sentiment, float)
    assert item.sentiment > 0.3
    assert Image.open(io.BytesIO(media.thumbnail(item.id) or b"")).size == (256, 96)


@pytest.mark.parametrize("ending", FILMS)
def test_a_film_is_kept_with_its_length_and_its_first_frame(media: MediaMemory, ending: str):
    item = media.add(film(ending), description="red all the time", name=f"red.{ending}")
    assert (item.kind, item.width, item.height, item.warnings) == ("video", 64, 48, ())
    assert item.duration_s == pytest.approx(0.5, abs=0.11)
    assert Image.open(io.BytesIO(media.thumbnail(item.id) or b"")).size == (64, 48)


def test_a_file_is_read_by_its_path(media: MediaMemory, tmp_path: Path):
    file = tmp_path / "日落.png"
    file.write_bytes(PNG)
    item = media.add(file, features=[])
    assert (item.name, item.text, item.description) == ("日落.png", "日落.png", "")
    assert found(media.recall("日落", limit=1)) == [item.id]
    assert media.data(item.id) == PNG


# What is refused, with nothing stored.


BREAKING: tuple[tuple[Any, dict[str, Any], str], ...] = (
    (b"plain words", {}, "no image, audio or video"), (PNG, {"name": "photo.jpg"}, "says image/jpeg"),
    (PNG, {"name": "notes.pdf"}, "says something else"), (PNG, {"kind": "video"}, "not video"),
    (film("mp4"), {"name": "cat.gif"}, "says image/gif"),
    (claiming(60_000, 60_000), {}, "over the limit of 50,000,000"),
    (claiming(2**31 - 1, 2**31 - 1), {}, "over the limit"), (b"<svg onload='alert(1)'/>", {}, "SVG"), (b"", {}, "none"),
    ("photo.png", {}, r"Path\(…\)"), (12, {}, "bytes or a Path"), (PNG, {"features": "words"}, "several words"),
    (PNG, {"features": ["a", 1.0]}, "a feature word"), (PNG, {"features": [0.0, 0.0]}, "direction"),
    (PNG, {"features": [float("nan")]}, "finite"), (PNG, {"sentiment": 1.5}, "from -1 to 1"),
    (PNG, {"sentiment": True}, "a word or a number"), (PNG, {"sentiment": " "}, "1 to 100"),
    (PNG, {"description": None}, "a description"), (PNG, {"transcript": 3}, "a transcript"),
    (PNG, {"description": "a\x00b"}, "NUL"),
    (PNG, {"description": "a\ud800b"}, "a description must not contain lone surrogates"),
    (PNG, {"transcript": "\udfff"}, "a transcript must not contain lone surrogates"),
    (PNG, {"description": "x " * 60_000}, r"^a medium's words were refused: oversize: 119,999 characters"),
    (PNG, {"session": "a\x00"}, "NUL"), (PNG, {"metadata": {"memwell": 1}}, "memwell's own"),
    (PNG, {"metadata": {"f": object()}}, "plain JSON"), (PNG, {"name": "n" * 2000}, "1,024"),
    (PNG, {"time": "now"}, "datetime"),
)  # fmt: skip


def test_what_breaks_a_rule_is_refused_with_nothing_stored(media: MediaMemory):
    for data, options, said in BREAKING:
        with pytest.raises(InvalidInput, match=said):
            media.add(data, **{"features": [0.5, 0.5], **options})
        assert facts(media) == {"messages": 0, "records": 0, "blobs": 0}, said
        assert media.items() == [], said


def test_a_file_that_cannot_be_read_is_named(media: MediaMemory, tmp_path: Path):
    for path in (tmp_path / "missing.png", tmp_path):
        with pytest.raises(FileError, match=path.name):
            media.add(path)
    big = tmp_path / "big.png"
    big.write_bytes(PNG + bytes(2000))
    small = MediaMemory(media.memory, limits=MediaLimits(image_bytes=1000, audio_bytes=1000, video_bytes=1000))
    with pytest.raises(InvalidInput, match="more than 1,000 bytes"):
        small.add(big)
    assert facts(media)["blobs"] == 0


def test_what_the_gate_refuses_is_refused_with_its_bytes(backend: Backend):
    memory = Memory(backend, "ann", gate=Gate(Policy(secrets="refuse")))
    media = MediaMemory(memory)
    with pytest.raises(InvalidInput, match="password"):
        media.add(PNG, transcript="my password is hunter2hunter2", features=[1.0])
    assert facts(media) == {"messages": 0, "records": 0, "blobs": 0}


def test_secrets_are_taken_out_of_every_word(media: MediaMemory):
    secret = "hunter2-Canary-77"
    item = media.add(PNG, description="a note", transcript=f"my password is {secret}, keep it", features=["paper"])
    stored = media.memory.backend.index.get(media.memory.space, [media.get(item.id).id])[0]
    assert secret not in repr(stored)
    assert (item.description, item.features) == ("a note", ("paper",))
    assert item.transcript.startswith("my password is")
    assert secret not in item.transcript


def test_pictures_that_cannot_be_decoded_are_kept_with_a_warning(media: MediaMemory):
    for data in (PNG[:-30], picture("JPEG", (200, 100))[:-200], claiming(10, 10), film("webm")[:-300], wav()[:60]):
        item = media.add(data, description="something broken")
        assert len(item.warnings) == 1
        assert not item.has_thumbnail or "ends before" in item.warnings[0]
        assert media.data(item.id) == data
    assert media.get(item.id).warnings == item.warnings


def test_a_medium_whose_bytes_are_gone_says_so(media: MediaMemory):
    item = media.add(PNG, description="a cat")
    backend, space = media.memory.backend, blobs_space(media.memory.space)
    digests = traits_of(backend.index.get(media.memory.space, [media.get(item.id).id])[0]).blobs
    for digest in digests:
        assert backend.blobs.delete(space, digest)
    for one in (media.get(item.id), media.items()[0], media.recall("cat")[0]):
        assert not one.has_thumbnail
        assert one.warnings == (f"its bytes and its thumbnail are {WHERE}",)
        assert one.digest == item.digest
    assert media.thumbnail(item.id) is None
    with pytest.raises(NotFound, match=rf"the bytes of the medium '{item.id}' are not in this store.*\.jsonl"):
        media.data(item.id)
    backend.blobs.put(space, PNG)  # as another export may bring it
    assert media.get(item.id).warnings == (f"its thumbnail is {WHERE}",)
    assert media.data(item.id) == PNG


def test_all_kinds_are_found_by_one_question(media: MediaMemory):
    photo = media.add(PNG, description="our dog Rex at the lake", session="trip")
    voice = media.add(wav(), transcript="Rex barked all night at the lake", session="trip")
    clip = media.add(film("mp4"), features=["dog", "lake", "swimming"], session="trip")
    media.add(PNG, description="the annual budget as a table", session="work")
    assert set(found(media.recall("dog at the lake", limit=3))) == {photo.id, voice.id, clip.id}
    assert set(found(media.recall("lake", kinds=("audio", "video")))) == {voice.id, clip.id}
    assert found(media.recall("lake", kinds="image", session="trip")) == [photo.id]
    best = media.recall("swimming", limit=1)[0]
    assert best.id == clip.id
    assert best.score > 0
    assert "same words" in best.why()
    assert "用词相同" in best.why(language="zh")
    with pytest.raises(InvalidInput, match="image, audio, video"):
        media.recall("lake", kinds="memory")
    with pytest.raises(InvalidInput, match="kinds"):
        media.recall("lake", kinds=3)  # pyright: ignore[reportArgumentType]


def test_plain_recall_finds_media_among_memories(media: MediaMemory):
    media.memory.remember("Ann likes tea.")
    item = media.add(PNG, description="海边的日落", features=["沙滩"])
    assert media.memory.recall("日落", limit=1)[0].id == item.id
    assert media.memory.recall("沙滩", limit=1)[0].kind == "image"
    assert found(media.items()) == [item.id]


def test_several_media_of_a_session_are_all_kept(media: MediaMemory):
    items = [media.add(picture(colour=(number, 0, 0)), description="a photo", session="s") for number in range(5)]
    other = media.add(PNG, description="a photo", session="t")
    assert found(media.items(session="s")) == found(items)
    assert found(media.items(kinds="image", limit=6)) == [*found(items), other.id]
    assert media.items(kinds="audio") == []
    assert len({media.data(item.id) for item in items}) == 5


def test_media_are_found_by_their_features(media: MediaMemory):
    east = media.add(PNG, description="east", features=[1.0, 0.0, 0.0], session="s")
    north = media.add(PNG, description="north", features=[0.0, 5.0, 0.0])
    media.add(wav(), description="another size", features=[1.0, 0.0])
    hits = media.like([0.9, 0.1, 0.0])
    assert found(hits) == [east.id, north.id]
    assert hits[0].score == pytest.approx(0.994, abs=0.01)
    assert hits[0].dimensions == 3
    assert hits[0].why() == "alike features (99 %)"
    assert hits[0].why(language="zh") == "特征相似（99%）"
    assert found(media.like([0.0, 1.0, 0.0], session="s")) == [east.id]
    assert media.like([1.0, 0.0, 0.0], kinds="video") == media.like([1.0] * 7) == media.like([1.0, 0, 0], limit=0) == []
    with pytest.raises(InvalidInput, match="direction"):
        media.like([0.0, 0.0])


def test_forgotten_media_do_not_crowd_out_others(media: MediaMemory):
    near = [media.add(PNG, description=f"near {number}", features=[1.0, number / 100]) for number in range(12)]
    far = media.add(PNG, description="far", features=[0.5, 1.0])
    media.memory.forget(found(near))
    assert found(media.like([1.0, 0.0], limit=1)) == [far.id]


def test_what_was_forgotten_is_hidden_and_comes_back(media: MediaMemory):
    item = media.add(PNG, description="a cat on a sofa", features=[1.0, 0.0])
    media.memory.forget(item.id)
    assert media.items() == media.recall("cat") == media.like([1.0, 0.0]) == []
    for ask in (media.get, media.data, media.thumbnail):
        with pytest.raises(NotFound, match="undo"):
            ask(item.id)
    media.memory.undo(item.id)
    assert media.data(item.id) == PNG
    assert media.thumbnail(item.id)
    assert found(media.like([1.0, 0.0])) == found(media.recall("cat")) == [item.id]


def test_bytes_that_two_have_stay_for_the_other(media: MediaMemory):
    first, second = media.add(PNG, description="one"), media.add(PNG, description="two")
    assert facts(media)["blobs"] == 2, "the same bytes and the same thumbnail are kept once"
    assert media.erase(first.id).blobs == 0
    assert media.data(second.id) == PNG
    assert media.erase([second.id]).blobs == 2
    assert facts(media)["blobs"] == 0
    with pytest.raises(NotFound):
        media.get(second.id)


def test_only_media_are_erased_here(media: MediaMemory):
    words = media.memory.remember("no medium at all").id
    item = media.add(PNG, description="a medium")
    for ids in ([item.id, words], [item.id, "nobody"]):
        with pytest.raises(NotFound):
            media.erase(ids)
    assert media.data(item.id) == PNG
    with pytest.raises(NotFound, match="no medium"):
        media.get(words)
    media.memory.forget(item.id)
    assert (media.remove(), media.remove(item.id)) == (0, 1)
    assert media.memory.get(words).text == "no medium at all"


ENDINGS: dict[str, Callable[[MediaMemory, MediaItem], object]] = {
    "erase": lambda media, item: media.erase(item.id),
    "memory.erase": lambda media, item: media.memory.erase(item.id),
    "erase_where": lambda media, item: media.memory.erase_where({"album": "x"}),
    "erase_all": lambda media, item: media.memory.erase_all(),
    "purge": lambda media, item: (media.memory.forget(item.id), media.memory.purge(0)),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_was_erased_is_in_no_file(tmp_path: Path, ending: str):
    canary, vector = b"kanarienvogel-7391" * 400, [0.11, 0.22, 0.33, 0.44]
    data = PNG + canary
    with open_backend(str(tmp_path / "store.db")) as backend:
        media = beside(backend)
        kept = media.add(wav(), description="stays here")
        item = media.add(data, description="zaunkoenig", features=vector, metadata={"album": "x"}, name="amsel.png")
        media.memory.update(item.id, "zaunkoenig und zeisig")
        small = media.thumbnail(item.id) or b""
        everything = b"".join(file.read_bytes() for file in tmp_path.iterdir())
        assert all(
            one in everything for one in (canary[:400], b"zaunkoenig", small[-64:], pack_half(as_vector(vector)))
        )
        from_vector = next(iter(media.like(vector))).id
        assert from_vector == item.id
        ENDINGS[ending](media, item)
        everything = b"".join(file.read_bytes() for file in tmp_path.iterdir())
        traces = [b"kanarienvogel", b"zaunkoenig", b"zeisig", b"amsel.png", item.id.encode()]
        # All thumbnails begin alike; they differ where the pixels are.
        for trace in (*traces, small[-64:], pack_half(as_vector(vector))):
            assert trace not in everything, trace
        assert media.like(vector) == []
        assert facts(media)["blobs"] == (0 if ending == "erase_all" else 2)
        if ending != "erase_all":
            assert media.data(kept.id) == wav()


def test_a_killed_writer_leaves_no_bytes_without_their_medium(tmp_path: Path):
    child = """
import os, sys
from memwell.longterm.media import MediaMemory
from memwell.longterm.memory import Memory
from memwell.longterm.journal import Journal
from memwell.storage import open_backend
media = MediaMemory(Memory(open_backend(sys.argv[1]), "ann"))
Journal.write_new = lambda self, entries: os._exit(9)
media.add(open(sys.argv[2], "rb").read(), description="never there", features=[1.0, 2.0])
"""
    store, file = tmp_path / "store.db", tmp_path / "a.png"
    file.write_bytes(PNG)
    done = subprocess.run([sys.executable, "-c", child, str(store), str(file)], check=False)
    assert done.returncode == 9
    with open_backend(str(store)) as backend:
        media = beside(backend)
        assert facts(media) == {"messages": 0, "records": 0, "blobs": 0}
        assert media.items() == []


def test_two_spaces_see_nothing_of_each_other(backend: Backend):
    ann, bob = beside(backend, "ann"), beside(backend, "bob")
    hers = ann.add(PNG, description="a cat", features=[1.0, 0.0])
    his = bob.add(PNG, description="a cat", features=[1.0, 0.0])
    assert found(ann.recall("cat")) == found(ann.like([1.0, 0.0])) == found(ann.items()) == [hers.id]
    with pytest.raises(NotFound):
        ann.data(his.id)
    ann.memory.erase_all()
    assert bob.data(his.id) == PNG
    assert found(bob.like([1.0, 0.0])) == [his.id]


def test_many_add_and_erase_at_once(media: MediaMemory):
    errors: list[BaseException] = []
    kept: list[MediaItem] = []

    def work(number: int) -> None:
        try:
            for turn in range(4):
                item = media.add(PNG, description=f"photo {number} {turn}", features=[1.0, number + 1.0])
                if turn % 2:
                    media.erase(item.id)
                else:
                    kept.append(item)
        except BaseException as error:  # noqa: BLE001 - told by the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(found(media.items())) == sorted(found(kept))
    assert len(kept) == 12
    assert {media.data(item.id) for item in kept} == {PNG}
    assert len(media.like([1.0, 1.0], limit=50)) == 12


def test_words_that_were_changed_are_the_description(media: MediaMemory):
    item = media.add(PNG, description="a cat", features=["sofa"], transcript="meow")
    media.memory.update(item.id, "in truth a dog")
    changed = media.get(item.id)
    assert (changed.description, changed.features, changed.transcript) == ("in truth a dog", (), "")
    assert media.data(item.id) == PNG
    media.memory.update(item.id, metadata={"album": 3})
    assert media.get(item.id).width == 64
    media.memory.undo(item.id)
    media.memory.undo(item.id)
    assert media.get(item.id) == item


def test_without_the_optional_packages_media_are_kept_without_thumbnails(
    media: MediaMemory, monkeypatch: pytest.MonkeyPatch
):
    for name in ("PIL", "av"):
        monkeypatch.setitem(sys.modules, name, None)
    for data in (PNG, wav(), film("mp4"), sound("mp3")):
        item = media.add(data, description="something")
        assert not item.has_thumbnail
        # A recording that is no WAV has none with the extra either.
        assert ["memwell[media]" in one for one in item.warnings] == ([] if data == sound("mp3") else [True])
        assert media.data(item.id) == data
    with pytest.raises(InvalidInput, match="over the limit"):
        media.add(claiming(60_000, 60_000))


def test_pictures_that_are_described_alike_are_not_merged():
    with open_backend("memory:") as backend:
        memory = Memory(backend, "ann")
        media = MediaMemory(memory)
        ids = [media.add(picture(kind), description="our house in the winter snow").id for kind in ("PNG", "JPEG")]
        assert memory.compress().merges == []
        assert memory.audit().counts.get("duplicate", 0) == 0
        assert [item.id for item in media.items()] == ids


def test_an_audit_finds_media_whose_bytes_are_gone():
    with open_backend("memory:") as backend:
        memory = Memory(backend, "ann")
        item = MediaMemory(memory).add(PNG, description="our house in the winter snow")
        assert memory.audit().counts.get("broken", 0) == 0
        assert backend.blobs.delete(blobs_space(memory.space), str(item.digest))
        assert memory.audit().counts["broken"] == 1
