"""The command that draws what people would rather look at than read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memwell.cli.phrases import say
from memwell.cli.terminal import console, one_line
from memwell.errors import InvalidInput
from memwell.settings import load_settings

app = typer.Typer()
_NAMES = ("attention", "context", "roadmap")
_LENGTHS = (512, 1024, 2048, 4096, 8192, 16_384, 32_768, 131_072)


@app.command("explain")
def explain_command(
    what: Annotated[
        list[str] | None, typer.Argument(help="attention, context or roadmap; all by default. 画哪些，默认全部。")
    ] = None,
    folder: Annotated[Path, typer.Option("--to", help="The folder for the pictures. 图片放到哪里。")] = Path(),
    language: Annotated[str | None, typer.Option(help="en or zh; that of the terminal by default. 语言。")] = None,
) -> None:
    """Draw what memory is up against: the cost of attention, context lengths, the roadmap. 画图解释记忆问题。"""
    chosen = language or load_settings().language
    unknown = [name for name in what or () if name not in _NAMES]
    if unknown:
        raise InvalidInput(say("explain_what", given=repr(unknown[0]), known=", ".join(_NAMES)))
    # Drawing takes a third of a second to load, which the other commands do without.
    from memwell.compat.guide.pictures import TechnologyRoadmap, attention_figure, context_figure  # noqa: PLC0415
    from memwell.plotting import save  # noqa: PLC0415

    drawn = {
        "attention": lambda: attention_figure(_LENGTHS, chosen),
        "context": lambda: context_figure(chosen),
        "roadmap": lambda: TechnologyRoadmap(chosen).generate_roadmap_chart(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name in what or _NAMES:
        path = save(drawn[name](), folder / f"memwell-{name}.png")
        console().print(say("plot_written", chosen, path=one_line(str(path))))


__all__ = ["app"]
