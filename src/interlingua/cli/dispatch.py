"""From what was typed to the command that does it: the root help, and mistakes told in words."""

import inspect as introspection
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

import interlingua
from interlingua.cli.flags import spell_out
from interlingua.cli.streams import say
from interlingua.errors import ConfigError

if TYPE_CHECKING:
    from cyclopts import App, CycloptsError

__all__ = ["Command", "CommandLine"]

Command = Callable[..., int | None]


@dataclass(frozen=True)
class CommandLine:
    """All that can be typed.

    Attributes:
        commands: in the order of the help.
        groups: commands of two words: the first word, what it is for, and those of the second.
        flags: dataclasses whose fields are flags of the commands that take one.
    """

    commands: tuple[Command, ...]
    groups: Mapping[str, tuple[str, tuple[Command, ...]]]
    flags: tuple[type, ...]

    def run(self, arguments: list[str]) -> int:
        """Run one command and return its exit status.

        Raises:
            ConfigError: it was typed wrong.
        """
        if arguments[:1] == ["help"]:
            arguments = [*arguments[1:], "--help"]
        if arguments in ([], ["--help"], ["-h"]):
            say(self._overview())
            return 0
        if arguments == ["--version"]:
            say(f"interlingua {interlingua.__version__}\n")
            return 0
        self._refuse_unknown_command(arguments[0])
        from cyclopts import CycloptsError

        try:
            status = self.build_app()(
                spell_out(arguments),
                exit_on_error=False,
                print_error=False,
                verbose=False,
                result_action="return_value",
            )
        except CycloptsError as error:
            raise ConfigError(_in_plain_words(error, arguments)) from error
        return int(status or 0)

    def build_app(self) -> "App":
        """Make the parser."""
        from cyclopts import App, Parameter

        for flags in self.flags:
            Parameter(name="*")(flags)
        common = Parameter(negative=(), consume_multiple=1, show_default=_show_default)
        before_text = Parameter(consume_multiple=False)
        app = App(
            name="interlingua",
            version=interlingua.__version__,
            default_parameter=common,
            help_format="plaintext",
            suppress_keyboard_interrupt=False,
        )
        for command in self.commands:
            # A flag with several values would swallow the text that stands behind it.
            app.command(command, default_parameter=before_text if _takes_text(command) else None)
        for name, (told, commands) in self.groups.items():
            group = App(name=name, help=told)
            for command in commands:
                group.command(command)
            app.command(group)
        return app

    def _overview(self) -> str:
        """Write the root ``--help`` from the docstrings; without cyclopts, which would take longer than the text."""
        rooms = [
            line.removeprefix("* ").replace("``", "")
            for line in (interlingua.__doc__ or "").splitlines()
            if line.startswith("* ")
        ]
        return "\n".join(
            [
                "Usage: interlingua COMMAND [ARGUMENTS]     (interlingua COMMAND --help tells more)",
                "",
                "A parallel corpus becomes a translator, and text becomes text. Begin with: interlingua demo",
                "",
                "Commands:",
                *(f"  {command.__name__:<14} {_summary(command)}" for command in self.commands),
                *(f"  {name:<14} {told}" for name, (told, _) in self.groups.items()),
                "  --version      Print the version.",
                "",
                "The rooms that data passes through, in order:",
                *(f"  {room}" for room in rooms),
                "",
            ]
        )

    def _refuse_unknown_command(self, name: str) -> None:
        names = [*(command.__name__ for command in self.commands), *self.groups]
        if name in names:
            return
        close = get_close_matches(name, names, n=1)
        meant = f"; did you mean {close[0]}?" if close else ""
        raise ConfigError(f"unknown command {name}{meant} (commands: {', '.join(names)})")


def _summary(command: Command) -> str:
    return (introspection.getdoc(command) or "").partition("\n")[0]


def _takes_text(command: Command) -> bool:
    """Tell whether any number of sentences may stand among the flags."""
    parameters = introspection.signature(command).parameters.values()
    return any(p.kind is p.VAR_POSITIONAL and p.name == "text" for p in parameters)


def _show_default(value: object) -> str | None:
    """Keep the help free of defaults that say nothing."""
    return None if value in (None, False, ()) else str(value)


def _in_plain_words(error: "CycloptsError", arguments: Sequence[str]) -> str:
    """Say what is wrong with the command line, and where to read on."""
    from cyclopts import MissingArgumentError, UnusedCliTokensError

    words = " ".join(str(error).split()).rstrip(".")
    if isinstance(error, UnusedCliTokensError):
        words = f"{' '.join(error.unused_tokens or ())}: is more than this command takes; a flag that takes one value has it already"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        name = error.keyword or error.argument.name
        positional = error.argument.index is not None and error.keyword is None
        words = f"{name.lstrip('-').upper() if positional else name} is missing, or its value is"
        if name in arguments:
            words += f"; a value that begins with a hyphen is written {name}='- ...'"
    if "nknown option" in words and arguments[0] in ("translate", "inspect", "tokenize"):
        words += "; text that begins with a hyphen goes after --"
    return f"{words} (interlingua {arguments[0]} --help tells more)"
