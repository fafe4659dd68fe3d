"""Base of all commands: they refuse options that would be ignored, before any computation."""

import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import wraps
from typing import Any, get_type_hints

from typer.core import TyperCommand

from fastpsr.cli.options.declaration import KNOWN

#: Options of former versions, and what is given instead, in commands that have that.
OLD = {
    "--missing": "--allow missing",
    "--extra": "--allow extra",
    "--duplicates": "--allow duplicates",
    "--nan": "--allow nan",
    "--normalize": "--allow unnormalized",
    "--score": "--columns [NAME=]COLUMN,...",
    "--columns": "--format ROLE=COLUMN,...",
    "--speaker-columns": "--speakers columns:ENROLL,TEST",
    "--speaker-pattern": "--speakers pattern:REGEX",
    "--key-columns": "--key-format ROLE=COLUMN,...",
    "--key-transpose": "--key-format transpose",
    "--no-key-transpose": "--key-format no-transpose",
    "--transpose": "--format transpose",
    "--no-transpose": "--format no-transpose",
    "--in-order": "--format in-order",
    "--targets": "--key target=FILE",
    "--nontargets": "--key nontarget=FILE",
    "--bins": "--by COLUMN:N, COLUMN:EDGE:EDGE... or COLUMN:each",
    "--interval": "--ci METHOD or LEVEL:METHOD",
    "--group-differences": "--differences pooled or conditions",
    "--all-pairs": "--differences pairs",
    "--quality-columns": "--quality ENROLL,TEST",
    "--scores-are posterior": "--scores-are posteriors",
    "--scores-are cosine": "--scores-are raw",
}
_FILES = {"--csv": "csv", "--markdown": "md", "--latex": "tex", "--report": "html"}
#: What files of tables are given by now, in the commands that had options for them.
_OF_FILES = {
    "evaluate": "--output FILE.{}", "compare": "--output FILE.{}", "fuse": "--table FILE.{}",
    "threshold": "--json FILE",
}  # fmt: skip


def _replacement(command: str, old: str) -> str:
    """Return what is given instead of an option of former versions, or ""."""
    if old in _FILES:
        return _OF_FILES.get(command, "").format(_FILES[old])
    if old == "--adcf" and command in ("evaluate", "compare"):
        return "--dcf PNON:PSPOOF:CMISS:CFA:CFASPOOF"
    return OLD.get(old, "")


class Command(TyperCommand):
    """A command that refuses repeated options, except those that take several values."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        KNOWN.update(name for option in self.params for name in option.opts)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, after a check for old spellings, and for options of which only one is used."""
        own = {name for option in self.params for name in option.opts}
        for place, word in enumerate(args):
            if word == "--":
                break
            name, _, value = word.partition("=")
            with_value = f"{name} {value or ''.join(args[place + 1 : place + 2])}"
            old = with_value if with_value in OLD else name
            new = _replacement(str(ctx.info_name), old)
            if new.partition(" ")[0] in own and (old != name or name not in own):
                ctx.fail(f"{old} is now {new}")
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for option in self.params:
            n_given = order.count(option)
            if option.param_type_name == "option" and n_given > 1 and not option.multiple:
                ctx.fail(f"{option.opts[0]} must be given once, not {n_given} times")
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help in plain text, where no name is cut off: the usual options first."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        panels: dict[str, list[Any]] = {"Arguments": [], "Options": []}
        for option in self.get_params(ctx):
            own = getattr(option, "rich_help_panel", None)
            name = own or ("Arguments" if option.param_type_name == "argument" else "Options")
            if record := option.get_help_record(ctx):
                panels.setdefault(name, []).append(record)
        for name, records in panels.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)

    def invoke(self, ctx: Any) -> Any:
        """Run the command after checking the environment, so that its errors name no file."""
        from fastpsr.cli.compiling import compiling_ahead  # brings NumPy, which refusals need not
        from fastpsr.kernels.blocks import thread_count

        thread_count()
        with compiling_ahead(ctx.info_name):
            return super().invoke(ctx)


def in_groups(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command in which parameters that are dataclasses become options for their fields.

    So do fields that are dataclasses themselves.
    """
    hints = get_type_hints(function, include_extras=True)
    own = inspect.signature(function).parameters
    types: dict[str, Any] = {}
    defaults: dict[str, Any] = {}

    def add(name: str, hint: Any, default: Any) -> None:
        if is_dataclass(hint):
            for part, part_hint in get_type_hints(hint, include_extras=True).items():
                add(part, part_hint, getattr(hint, part, None))
        else:
            types[name], defaults[name] = hint, default

    def value(name: str, hint: Any, options: dict[str, Any]) -> Any:
        if not is_dataclass(hint):
            return options[name]
        parts = get_type_hints(hint)
        made: Any = hint
        return made(**{part: value(part, each, options) for part, each in parts.items()})

    for name, parameter in own.items():
        add(name, hints[name], parameter.default)

    @wraps(function)
    def command(**options: Any) -> None:
        function(**{name: value(name, hints[name], options) for name in own})

    kind = inspect.Parameter.KEYWORD_ONLY
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, kind, default=defaults[name], annotation=hint)
            for name, hint in types.items()
        ]
    )
    command.__annotations__ = types
    return command
