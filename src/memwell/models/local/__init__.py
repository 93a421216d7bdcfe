"""Embeddings on this machine's processor, from weights that ship inside installed packages. Nothing is downloaded.

embedder = LocalEmbedder()
embedder.embed(["Anna likes trains.", "安娜喜欢火车。"])
"""

from memwell.models.local.embedder import LocalEmbedder

__all__ = ["LocalEmbedder"]
