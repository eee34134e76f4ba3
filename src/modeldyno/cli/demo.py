"""``modeldyno demo``."""

from __future__ import annotations

import typer

from modeldyno.cli import options, output


def demo(
    quick: options.Quick = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    server: options.LocalOnly = None,
    workspace: options.Workspace = None,
) -> None:
    """Measure the model that came with the package: a small classifier of handwritten digits."""
    from functools import partial

    from modeldyno.cli.bench import ending, measure, task_of
    from modeldyno.demo import model_path, test_images_path
    from modeldyno.measure.cpus import allowed_cpus
    from modeldyno.services.requests import (
        CellOptions,
        InputOptions,
        benchmark_spec,
        choose_budget,
    )
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_workbench

    cores = sorted({1, min(2, len(allowed_cpus()))})
    spec = benchmark_spec(
        model_path(),
        CellOptions(batch=[1, 8], cores=cores),
        InputOptions(data=test_images_path()),
        budget=choose_budget(quick=quick),
    )
    if not (quiet or json):
        output.tell("Demo: handwritten digits, on real test images")
    room = open_workbench(Settings.read(workspace))
    task = task_of(spec, partial(room.service.run, spec))
    results, error = measure([task], quiet=quiet, as_json=json)
    if error is not None:
        raise error
    if not (quiet or json):
        output.tell("next: modeldyno bench YOUR.onnx · modeldyno compare A.onnx B.onnx")
    raise typer.Exit(ending(results, strict=False))
