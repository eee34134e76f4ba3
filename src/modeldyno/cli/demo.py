"""``modeldyno demo``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import typer

from modeldyno.cli import options, output

CELL_S = 3.0  # of the eight cells, each: all together takes less than a minute


def demo(
    quick: options.Quick = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    server: options.LocalOnly = None,
    workspace: options.Workspace = None,
) -> None:
    """Measure the model that came with the package: a small classifier of handwritten digits.

    First a verdict between two engines, then batches and cores, then where the time goes.

    Examples:

        modeldyno demo

        modeldyno demo --json
    """
    from modeldyno.cli import bench, compare, profile
    from modeldyno.cli.remote import run_label
    from modeldyno.core.requests.measuring import ModelFile
    from modeldyno.core.specs import QUICK
    from modeldyno.demo import model_path, test_images_path
    from modeldyno.services import demo_project
    from modeldyno.settings import Settings
    from modeldyno.workbench import open_workbench

    model, is_plain = model_path(), not (quiet or json)
    run = open_workbench(Settings.read(workspace)).service.run
    if not json:  # that is one document: the benchmark's
        comparison = demo_project.choose_two_sides()
        if is_plain:
            output.message(f"Demo: handwritten digits. {comparison.title}?")
        spec = demo_project.demo_comparison(model, model, comparison)
        compared = compare.run_with_progress(partial(run, spec), quiet)
        compare.show(compared, quiet)
        if compared.interrupted:
            raise typer.Exit(compare.INTERRUPTED)
    if is_plain:
        output.message()
        output.message("By engine, batch and cores, on real test images:")
    budget = QUICK if quick else replace(QUICK, name="custom", seconds=CELL_S)
    cells = demo_project.demo_benchmark(ModelFile(model, data=test_images_path()), budget)
    results, error = bench.measure(
        [bench.make_task(cells, partial(run, cells))],
        partial(run_label, None, workspace),
        quiet=quiet,
        as_json=json,
    )
    if error is not None:
        raise error
    code = bench.exit_code_of(results, strict=False)
    if code == 0 and not json:
        if is_plain:
            output.message()
            output.message("Where the time goes:")
        profile.show(
            profile.run_with_progress(partial(run, demo_project.demo_profile(model)), quiet)
        )
    if is_plain:
        output.message("next: modeldyno bench YOUR.onnx · modeldyno compare A.onnx B.onnx")
    raise typer.Exit(code)
