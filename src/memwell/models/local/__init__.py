"""``LocalEmbedder``: embeddings on this machine's CPU, from weights in installed packages. Nothing is downloaded.

embedder = LocalEmbedder()
embedder.embed(["Anna likes trains.", "安娜喜欢火车。"])
"""

from memwell.models.local.embedder import LocalEmbedder

__all__ = ["LocalEmbedder"]
