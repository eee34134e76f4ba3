"""``modeldyno compare`` of more than two sides: one table, with places that may be shared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modeldyno.cli import output

if TYPE_CHECKING:
    from modeldyno.core.rankings import Ranking


def present(found: Ranking, as_json: bool, quiet: bool) -> None:
    if as_json:
        from modeldyno.core.documents.ranking import RankingDocument

        output.document(RankingDocument.of(found))
        return
    _show(found, quiet)


def _show(found: Ranking, quiet: bool) -> None:
    from modeldyno.core.rankings import ranking_remarks
    from modeldyno.core.tables import RANKING_WORDS, ranking_rows

    head, rows = ranking_rows(found)
    output.table(head, rows, left=RANKING_WORDS)
    for one in found.sides:
        if one.failure is not None:
            output.fault(one.label, one.failure)
    if quiet:
        return
    output.tell()
    for remark in ranking_remarks(found):
        output.tell(remark)
    noises = {one.noise for one in found.sides if one.noise is not None}
    if noises - {"quiet"}:
        output.tell(f"machine: {', '.join(sorted(noises))}")
    if any(one.ratio and one.label != found.reference for one in found.sides):
        output.tell(
            f"Each was measured in alternation with {found.reference}. × is its time per item by "
            "that side's, with a 95 % interval; those with the same place cannot be told apart."
        )
    if found.interrupted:
        output.tell("Stopped before its end: the rest was not measured")
