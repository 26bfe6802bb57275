"""The ``ablate`` command: a configuration trained without each of its parts, or with other values, in turn."""

from dataclasses import asdict, replace
from pathlib import Path

from interlingua.cli.flags import RunFlags
from interlingua.cli.streams import note, print_json, say
from interlingua.errors import ConfigError

__all__ = ["ablate"]

_RUN = RunFlags()


def ablate(
    config: Path | None = None,
    *,
    output: Path,
    run: RunFlags = _RUN,
    parts: tuple[str, ...] = (),
    vary: tuple[str, ...] = (),
    seeds: int = 3,
    steps: int = 200,
    json: bool = False,
) -> int:
    """Train a configuration without each part in turn, or with other values: what is it worth?

    Writes table.md, table.tex, curves.png and curves.svg into --output, and every run below it. The same command goes on
    where it was stopped. Needs CONFIG, or --source and --target, like train.

    Args:
        config: configuration file (TOML); flags win over it.
        output: folder for runs, tables and curves.
        parts: which parts, with commas between or --parts repeated; by default all, or none with --vary.
        vary: SECTION.KEY=VALUE,VALUE,...: train with each of these values instead. May be repeated; each is varied alone.
        seeds: runs of each, with seeds 1 to N.
        steps: updates of each run.
        json: print the rows as JSON.
    """
    for name, value in (("seeds", seeds), ("steps", steps)):
        if value < 1:
            raise ConfigError(f"--{name} must be at least 1, not {value}")
    settings = run.load(config)
    values = [_split(each, steps) for each in vary]
    from interlingua.files import write_text
    from interlingua.inspection.ablation import as_latex, as_markdown, draw_curves, rows_of
    from interlingua.inspection.canvas import save_figure
    from interlingua.training.ablation import Variant, choose_parts, train_variants, without_parts

    variants = [
        Variant(f"{key} = {value}", replace(run, set=(*run.set, f"{key}={value}")).load(config))
        for key, several in values
        for value in several
    ]
    if parts or not vary:
        chosen = choose_parts([name for each in parts for name in each.split(",")])
        without = without_parts(settings, chosen)
        if left_out := set(chosen) - {each.part for each in without}:
            names = ", ".join(each for each in chosen if each in left_out)
            if not without and not variants:
                raise ConfigError(
                    f"--parts: the configuration has none of {names}; nothing differs"
                )
            note(f"not there to be taken out: {names}")
        variants += without
    found, signal = train_variants(settings, variants, output, seeds=seeds, steps=steps, say=note)
    if signal is not None:
        return 128 + signal
    rows = rows_of(found)
    write_text(output / "table.md", as_markdown(rows))
    write_text(output / "table.tex", as_latex(rows))
    save_figure(draw_curves(found), output / "curves")
    print_json([asdict(row) for row in rows]) if json else say(as_markdown(rows))
    return 0


def _split(setting: str, steps: int) -> tuple[str, list[str]]:
    """Read SECTION.KEY=VALUE,VALUE.

    Raises:
        ConfigError: it is written otherwise, or is of what every run has alike.
    """
    key, equals, values = setting.partition("=")
    several = list(dict.fromkeys(values.split(",")))
    if not equals or not all(several):
        raise ConfigError(
            f"--vary {setting}: write SECTION.KEY=VALUE,VALUE, such as model.heads=1,2,4"
        )
    key = key.replace("-", "_")
    if key in _ALIKE:
        raise ConfigError(f"--vary {setting}: every run has the same {key}; leave it out")
    if key == "training.warmup_steps":
        for value in several:
            if value.isdecimal() and int(value) > max(1, steps // 4):
                raise ConfigError(
                    f"--vary {setting}: the warm-up is at most a quarter of the updates, {max(1, steps // 4)} of {steps}; "
                    "leave that value out, or give more --steps"
                )
    return key, several


_ALIKE = (
    "run_dir",
    *(f"training.{name}" for name in ("seed", "steps", "epochs", "minutes", "patience")),
    *(f"training.{name}" for name in ("validate_every", "average_last", "threads", "device")),
)
