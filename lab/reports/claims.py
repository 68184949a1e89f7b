"""The claims of the paper, each with what tests it here."""

from collections.abc import Sequence

from lab.reports.result_set import ResultSet
from textgames.document import Block


def claims_table(results: ResultSet) -> Sequence[Block]:
    return []
