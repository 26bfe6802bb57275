"""The ``ablate`` command: a configuration trained without each of its parts in turn."""

from pathlib import Path

from interlingua.cli_flags import RunFlags
from interlingua.cli_streams import note, print_json, say

__all__ = ["ablate"]

_RUN = RunFlags()


def ablate(
    config: Path | None = None,
    *,
    output: Path,
    run: RunFlags = _RUN,
    parts: tuple[str, ...] = (),
    seeds: int = 3,
    steps: int = 300,
    json: bool = False,
) -> int:
    """Train a configuration without each part of the model in turn, and tell what each is worth.

    Writes table.md, table.tex, curves.png and curves.svg into --output, and every run below it. The same command goes on
    where it was stopped. Needs CONFIG, or --source and --target, like train.

    Args:
        config: configuration file (TOML); flags win over it.
        output: folder for runs, tables and curves.
        parts: which parts; by default all. May be repeated.
        seeds: runs of each, with seeds 1 to N.
        steps: updates of each run.
        json: print the rows as JSON.
    """
    from interlingua.errors import ConfigError

    for name, value in (("seeds", seeds), ("steps", steps)):
        if value < 1:
            raise ConfigError(f"--{name} must be at least 1, not {value}")
    settings = run.load(config)
    from dataclasses import asdict

    from interlingua.files import write_text
    from interlingua.inspection.ablation import as_latex, as_markdown, draw_curves, rows_of
    from interlingua.inspection.canvas import save_figure
    from interlingua.training.ablation import ablate as train_each
    from interlingua.training.ablation import choose_removals

    removals = choose_removals(parts)
    found, signal = train_each(settings, output, removals, seeds=seeds, steps=steps, say=note)
    if signal is not None:
        return 128 + signal
    rows = rows_of(found)
    write_text(output / "table.md", as_markdown(rows))
    write_text(output / "table.tex", as_latex(rows))
    save_figure(draw_curves(found), output / "curves")
    print_json([asdict(row) for row in rows]) if json else say(as_markdown(rows))
    return 0
