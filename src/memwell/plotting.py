"""Figures as PNG files, with labels in English and Chinese.

matplotlib is loaded for the first figure. Its global state is not changed: no backend is chosen, no setting is changed, and
``pyplot`` is never loaded, so any thread may make figures.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from memwell.errors import FileError, MissingDependency

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties

_DOTS_AN_INCH = 150
_CHINESE = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff01-\uff5e]").search
# Simplified forms first; the others have every character too, in some cases in the Taiwanese or Japanese form.
_FAMILIES = (
    *(
        "Noto Sans SC",
        "Noto Sans CJK SC",
        "Source Han Sans SC",
        "Source Han Sans CN",
        "PingFang SC",
        "Hiragino Sans GB",
    ),
    *("Microsoft YaHei", "SimHei", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Heiti SC", "Noto Sans CJK JP"),
    *("Noto Sans CJK TC", "Noto Sans TC", "Droid Sans Fallback", "Arial Unicode MS", "SimSun", "Noto Serif CJK SC"),
    *("Noto Serif SC", "Noto Serif CJK JP"),
)
_SHIPPED = ("zhplot", "fonts", "NotoSansSC-Regular.ttf")


def figure(width: float, height: float) -> Figure:
    """An empty figure with sides in inches, and a layout that separates its labels.

    Raises ``MissingDependency`` when matplotlib is not installed.
    """
    try:
        # Loaded only for a plot: it takes a third of a second, and most programs never draw.
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependency.of("plots need matplotlib", "plots") from error
    made = Figure(figsize=(width, height), dpi=_DOTS_AN_INCH, layout="constrained")
    FigureCanvasAgg(made)
    return made


def current_figure(width: float, height: float) -> Figure:
    """As ``figure``; in a program that uses pyplot, the figure that pyplot saves next: ``plt.savefig("plot.png")``."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return figure(width, height)
    return pyplot.figure(figsize=(width, height), dpi=_DOTS_AN_INCH, layout="constrained")


@cache
def chinese_font() -> FontProperties | None:
    """A font with Chinese characters: an installed one, or that of the package zhplot; None without either.

    Raises ``MissingDependency`` when matplotlib is not installed.
    """
    try:
        from matplotlib.font_manager import FontProperties, fontManager  # noqa: PLC0415 - see figure
    except ImportError as error:
        raise MissingDependency.of("plots need matplotlib", "plots") from error
    files = {font.name: font.fname for font in reversed(fontManager.ttflist) if _is_plain(font.style, font.weight)}
    for file in (*(files.get(family) for family in _FAMILIES), _shipped_font()):
        if file is not None and Path(file).is_file():
            return FontProperties(fname=file)
    return None


def save(fig: Figure, path: str | Path) -> Path:
    """Write a figure as PNG, atomically, with its Chinese in a suitable font.

    Raises ``FileError`` when the file cannot be written, and then leaves it unchanged.
    """
    set_chinese(fig)
    buffer = BytesIO()
    fig.savefig(buffer, format="png")  # pyright: ignore[reportUnknownMemberType] - of its further options
    _write(Path(path), buffer.getvalue())
    return Path(path)


def _is_plain(style: str, weight: str | int) -> bool:
    return style == "normal" and str(weight) in ("400", "normal", "regular")


def _shipped_font() -> str | None:
    # Found without importing it, because it would load pyplot's settings.
    package, *path = _SHIPPED
    found = find_spec(package)
    return str(Path(found.origin).parent.joinpath(*path)) if found and found.origin else None


def set_chinese(fig: Figure) -> None:
    """Set the Chinese text of a figure in a suitable font, if there is one."""
    from matplotlib.text import Text  # noqa: PLC0415 - see figure

    for axes in fig.axes:
        for axis in (axes.xaxis, axes.yaxis):
            # Tick labels are created when they are requested.
            axis.get_ticklabels()
    for text in fig.findobj(Text):
        if not _CHINESE(text.get_text()):
            continue
        font = chinese_font()
        if font is None:
            return
        dressed = font.copy()
        dressed.set_size(text.get_fontsize())
        text.set_fontproperties(dressed)


def _write(path: Path, data: bytes) -> None:
    unfinished = None
    try:
        handle, unfinished = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name[:100]}.", suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # Temporary files are private, and a plot is made to be shown.
        os.chmod(unfinished, 0o644)
        os.replace(unfinished, path)
    except OSError as error:
        if unfinished is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(unfinished)
        raise FileError(f"the file {str(path)!r} cannot be written: {error.strerror or error}") from error
