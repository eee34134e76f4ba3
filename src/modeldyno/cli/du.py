"""``modeldyno du``."""

from __future__ import annotations

from modeldyno.cli import options, output

# What each part is, and how to free it.
_WORDS = {
    "runs": ("requests, results and logs", "modeldyno prune --runs-older-than 30d"),
    "samples": ("every timing of the runs", "modeldyno prune --samples"),
    "models": ("of the server and of `examples get`", "delete models on the page"),
    "own models": ("files that you put into models/", ""),
    "datasets": ("of the server", "delete datasets on the page"),
    "environments": ("engines in another Python", "modeldyno engines remove"),
    "caches": ("written again when needed", "modeldyno prune --caches"),
    "database": ("what people made on the page", ""),
    "other": ("everything else", ""),
}


def du(
    json: options.Json = False,
    server: options.LocalOnly = None,
    workspace: options.Workspace = None,
) -> None:
    """What the space of the workspace is used by.

    Examples:

        modeldyno du
    """
    from modeldyno.core import figures
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_space

    usage = open_space(Settings.read(workspace)).usage()
    if json:
        output.document(usage)
        return
    rows = [
        (part.name, figures.size(part.size_bytes), figures.spaced(part.files, 0))
        + _WORDS[part.name]
        for part in sorted(usage.parts, key=lambda part: -part.size_bytes)
    ]
    if rows:
        output.table(
            ("part", "size", "files", "what", "to free it"),
            rows,
            left=("part", "what", "to free it"),
        )
        output.say("")
    output.headline(
        f"{figures.size(usage.size_bytes)} in {usage.workspace}; "
        f"{figures.size(usage.free_bytes)} of its disk are free"
    )
