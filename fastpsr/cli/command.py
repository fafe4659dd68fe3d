"""Base of all commands: they refuse options that would be ignored, before any computation."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from operator import itemgetter
from typing import Annotated, Any, cast, get_type_hints

from typer.core import TyperCommand

from fastpsr.cli.options.declaration import KNOWN

#: Options of former versions by the option that is given instead, in commands that have that.
OLD = {
    "--at": ("--dcf", "--fa", "--miss"),
    "--allow": ("--missing", "--extra", "--duplicates", "--nan", "--normalize"),
    "--by": ("--bins",),
    "--ci": ("--interval",),
    "--columns": ("--score",),
    "--dcf": ("--adcf",),
    "--differences": ("--group-differences", "--all-pairs"),
    "--format": ("--transpose", "--in-order"),
    "--key": ("--targets", "--nontargets"),
    "--key-format": ("--key-columns", "--key-transpose"),
    "--quality": ("--quality-columns",),
    "--speakers": ("--speaker-columns", "--speaker-pattern"),
    "--table": ("--csv", "--markdown", "--latex", "--report"),
    "--output": ("--csv", "--markdown", "--latex", "--report"),
}

#: How the help shows values of a type, where the declaration of an option has no other words.
_METAVARS = {"Path": "FILE", "int": "N", "float": "NUMBER", "str": "NAME"}


class Command(TyperCommand):
    """A command that refuses repeated options, except those that take several values."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        KNOWN.update(name for option in self.params for name in option.opts)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, after a check for old spellings, and for options that exclude each other."""
        names = {name for option in self.params for name in option.opts}
        KNOWN.clear()
        KNOWN.update(names)
        for word in args[: args.index("--")] if "--" in args else args:
            old = word.partition("=")[0]
            for new, former in OLD.items():
                if old in former and old not in names and new in names:
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
            panel = getattr(option, "rich_help_panel", None) or "Options"
            name, text = option.get_help_record(ctx) or ("", "")
            if option.param_type_name == "argument":
                name, panel = option.metavar or name, "Arguments"
            panels.setdefault(panel, []).append((name, text))
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

    So do fields that are dataclasses themselves. Values of options that are parsed are so in the
    dataclass.
    """
    hints = get_type_hints(function, include_extras=True)
    parameters: list[inspect.Parameter] = []

    def add(name: str, hint: Any, default: Any) -> Callable[[dict[str, Any]], Any]:
        """Add the parameters of options; return the function that makes a value of them."""
        if not is_dataclass(hint):
            for declaration in getattr(hint, "__metadata__", ()):
                words = (word for name, word in _METAVARS.items() if name in str(hint.__origin__))
                declaration.metavar = declaration.metavar or next(words, None)
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter(name, kind, default=default, annotation=hint))
            return itemgetter(name)
        field_hints = get_type_hints(hint, include_extras=True)
        parts = {}
        for field in fields(hint):
            of = field.metadata.get("type", field_hints[field.name])
            if "option" in field.metadata:
                of = Annotated[of, field.metadata["option"]]
            part = add(field.name, of, None if field.default is MISSING else field.default)
            parts[field.name] = part, field.metadata.get("parse", lambda value: value)
        return lambda options: cast("Any", hint)(
            **{name: parse(part(options)) for name, (part, parse) in parts.items()}
        )

    arguments = inspect.signature(function).parameters.items()
    parts = {name: add(name, hints[name], parameter.default) for name, parameter in arguments}

    @wraps(function)
    def command(**options: Any) -> None:
        function(**{name: part(options) for name, part in parts.items()})

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command
