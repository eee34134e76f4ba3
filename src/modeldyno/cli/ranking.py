"""``modeldyno compare`` of more than two sides: one table, with places that may be shared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modeldyno.cli import output

if TYPE_CHECKING:
    from modeldyno.core.rankings import Ranking


def present(ranking: Ranking, as_json: bool, quiet: bool) -> None:
    if as_json:
        from modeldyno.core.documents.comparisons import RankingDocument

        output.document(RankingDocument.of(ranking))
        return
    _print_ranking(ranking, quiet)


def _print_ranking(ranking: Ranking, quiet: bool) -> None:
    from modeldyno.core.rankings import ranking_remarks
    from modeldyno.present.tables import RANKING_WORDS, ranking_rows

    head, rows = ranking_rows(ranking)
    output.table(head, rows, left=RANKING_WORDS)
    for side in ranking.sides:
        if side.failure is not None:
            output.print_failure(side.label, side.failure)
    if quiet:
        return
    output.message()
    for remark in ranking_remarks(ranking):
        output.remark(remark)
    noises = {side.noise for side in ranking.sides if side.noise is not None}
    if noises - {"quiet"}:
        output.message(f"machine: {', '.join(sorted(noises))}")
    if any(side.ratio and side.label != ranking.reference for side in ranking.sides):
        output.remark(
            f"Each was measured in alternation with {ranking.reference}. × is its time per item by "
            "that side's, with a 95 % interval over pairs; those with the same place cannot be "
            "told apart."
        )
    if ranking.interrupted:
        output.message("Stopped early: the rest was not measured")
