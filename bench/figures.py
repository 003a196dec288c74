"""The figures: what was measured against what is promised, as a table and as files."""

import json
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path(__file__).with_name("results")


@dataclass
class Figure:
    """`value` is None where it was refused or left out; `note` then says why, otherwise how."""

    what: str
    value: float | None
    land: float | None
    aim: float | None
    higher_is_better: bool
    unit: str = ""
    note: str = ""

    def meets(self, bound):
        return self.value >= bound if self.higher_is_better else self.value <= bound

    @property
    def verdict(self):
        if self.value is None:
            return "-"
        return "aim" if self.meets(self.aim) else "lands" if self.meets(self.land) else "MISSES"

    def row(self):
        sign = "≥ " if self.higher_is_better else "≤ "

        def shown(value, before=""):
            return "-" if value is None else f"{before}{number(value)}{self.unit}"

        measured = shown(self.value)
        if self.value is not None and any(
                number(self.value) == number(bound) and not self.meets(bound) for bound in (self.land, self.aim)):
            measured = f"{self.value:.4g}{self.unit}"  # rounded, it would look as if the bound were met
        return [self.what, measured, shown(self.land, sign), shown(self.aim, sign), self.verdict, self.note]


def number(value):
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.{2 if value >= 0.05 else 4}f}".rstrip("0").rstrip(".")


def ratio(what, numerator, denominator, land, aim, higher_is_better, runs, note=""):
    """Refused unless every run behind it was free of errors."""
    broken = [error for run in runs if not run.clean for error in describe_errors(run)]
    if broken:
        return Figure(what, None, land, aim, higher_is_better, note="refused: " + ", ".join(sorted(set(broken))))
    return Figure(what, numerator / denominator, land, aim, higher_is_better, note=note)


def describe_errors(run):
    kinds = [f"{count} {'non-2xx answers' if kind == 'status' else kind + ' errors'}"
             for kind, count in run.errors.items() if count]
    return kinds or ["no request was answered"]


def table(header, rows):
    """Plain columns; as wide as their content."""
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    lines = ["  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip()
             for row in [header, ["-" * width for width in widths], *rows]]
    return "\n".join(lines)


def markdown_table(header, rows):
    cells = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in cells)


FIGURE_HEADER = ["what", "measured", "to land", "aim", "verdict", "how"]


def write(name, figures, runs_header, runs, setting, details):
    """As NAME.json and NAME.md; returns what was written, for people."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps({
        "setting": setting,
        "figures": [vars(figure) | {"verdict": figure.verdict} for figure in figures],
        "runs": [dict(zip(runs_header, run)) for run in runs],
        "details": details,
    }, indent=2, ensure_ascii=False) + "\n")
    (RESULTS / f"{name}.md").write_text("\n\n".join([
        "# Figures of the last `./dev bench`",
        "\n".join(f"- {name}: {value}" for name, value in setting.items()),
        markdown_table(FIGURE_HEADER, [figure.row() for figure in figures]),
        "## Runs (medians)",
        markdown_table(runs_header, runs),
        "## Details",
        "\n".join(f"- {name}: {value}" for name, value in details.items()),
    ]) + "\n")
    return f"bench/results/{name}.json and {name}.md"
