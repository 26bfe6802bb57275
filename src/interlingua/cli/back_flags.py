"""What ``back-translate`` can be asked, and which flags of it do not go together."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from interlingua.errors import ConfigError

__all__ = ["BackFlags", "check_back_flags"]


@dataclass(frozen=True, slots=True)
class BackFlags:
    """How sources are made of monolingual text, and what they are mixed with."""

    method: Literal["beam", "sample", "noised-beam"] = "beam"
    """beam: the likeliest sources; sample: drawn by their probability; noised-beam: the likeliest, with words dropped,
    blanked out and moved (Edunov et al. 2018)."""
    temperature: float | None = None
    """Of samples: below 1 safer, above 1 more varied."""
    top_k: int | None = None
    """Draw among the N likeliest tokens only."""
    seed: int = 1
    """Of samples and of noise."""
    tag: str = "<bt>"
    """Symbol before every synthetic source in training (Caswell et al. 2019); "" for none."""
    weight: float | None = None
    """How often an epoch has the synthetic pairs: 2 is twice, 0.5 a random half (None: once, or less so that three of four pairs are
    synthetic at most)."""
    source: Path | None = None
    """Source of the genuine pairs, for the configuration that is written."""
    target: Path | None = None
    """Target of the genuine pairs."""
    iterations: int | None = None
    """Train, and so many times: the forward model on what the reverse model wrote, and between two such rounds the reverse model
    on what the forward model wrote of --mono-source (Hoang et al. 2018)."""
    mono_source: Path | None = None
    """Text of the source language, one sentence a line; with --iterations of 2 or more."""
    config: Path | None = None
    """Configuration (TOML) of what is trained; of its corpus only the noise counts."""
    set: tuple[str, ...] = ()
    """SECTION.KEY=VALUE, any value of that configuration, of its corpus the noise; --section.key VALUE is the same."""


def check_back_flags(back: BackFlags) -> None:
    """Refuse flags that do not go together, or have no such value."""
    _check_mixture(back)
    for key in _keys(back):
        if key.startswith(("corpus.", "run_dir")) and key != "corpus.noise":
            raise ConfigError(
                f"--{key}: what is trained on, and where, follows from the other flags of back-translate, and of corpus.* only "
                "--corpus.noise counts; leave it out, or change train.toml afterwards"
            )
    if (back.source is None) != (back.target is None):
        raise ConfigError("--source and --target of the genuine pairs go together; give both")
    if back.iterations is None:
        if back.mono_source is not None:
            raise ConfigError("--mono-source goes with --iterations; give both")
        if back.source is None and (flags := _of_the_training(back)):
            raise ConfigError(
                f"{', '.join(flags)} {'is' if len(flags) == 1 else 'are'} for the configuration that trains on both corpora; give "
                "--source and --target of the genuine pairs too"
            )
        return
    if back.iterations < 1:
        raise ConfigError(f"--iterations must be at least 1, not {back.iterations}")
    if back.source is None:
        raise ConfigError(
            "--iterations trains on the genuine pairs too; give --source and --target"
        )
    if back.iterations > 1 and back.mono_source is None:
        raise ConfigError(
            "--iterations of 2 or more trains the reverse model too, on text of the source language; give --mono-source"
        )


def _check_mixture(back: BackFlags) -> None:
    """Refuse a tag or weight that no configuration takes, by the name of its flag."""
    from interlingua.config_files import load_config

    two = {f"corpus.{side}": ("genuine", "synthetic") for side in ("source", "target")}
    weights = f"1,{1.0 if back.weight is None else back.weight}"
    for flag, key, values in (
        ("--tag", "corpus.tags", f",{back.tag}"),
        ("--weight", "corpus.weights", weights),
    ):
        try:
            load_config(None, {**two, key: values})
        except ConfigError as error:
            told = str(error).partition("\n")[0]
            reason = told.removeprefix(f"flag --{key}: {key}").removesuffix(", or a list of them")
            raise ConfigError(f"{flag}{reason}") from None


def _of_the_training(back: BackFlags) -> list[str]:
    """Return the flags that were given and count in the configuration alone."""
    given = {"--weight": back.weight, "--config": back.config}
    return [
        *(flag for flag, value in given.items() if value is not None),
        *(f"--{key}" for key in _keys(back)),
    ]


def _keys(back: BackFlags) -> list[str]:
    """Return the keys of the configuration that were given."""
    return [each.partition("=")[0].replace("-", "_") for each in back.set]
