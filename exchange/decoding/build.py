"""The build of a decoder: a digest of the sources that make its function (architecture, decoders)."""

from collections.abc import Iterable
from hashlib import sha256
from importlib.resources import files


def digest_of_sources(modules: Iterable[str]) -> str:
    """SHA-256, in hex, over the names and sources of modules given by their full names, in any order.

    Reads the installed sources, so it is for a decoder's package to call while it is imported, never for a decoder.
    """
    digest = sha256()
    for module in sorted(modules):
        package, _, name = module.rpartition(".")
        source = files(package).joinpath(f"{name}.py").read_bytes()
        digest.update(f"{module} {len(source)}\n".encode())
        digest.update(source)
    return digest.hexdigest()
