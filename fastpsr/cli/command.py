"""Base of all commands: they refuse options that would be ignored, before any computation."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

from typer.core import TyperCommand

from fastpsr.kernels.blocks import thread_count

__all__ = ["Command", "in_groups"]


class Command(TyperCommand):
    """A command that refuses repeated options, except those that take several values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, after a check for repeated options, of which only the last would be used."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for option in self.params:
            n_given = order.count(option)
            if option.param_type_name == "option" and n_given > 1 and not option.multiple:
                ctx.fail(f"{option.opts[0]} must be given once, not {n_given} times")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command after checking the environment, so that its errors name no file."""
        thread_count()
        return super().invoke(ctx)


def in_groups(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command in which parameters that are dataclasses become options for their fields."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    own = inspect.signature(function).parameters
    types = {name: hints[name] for name in own if name not in groups}
    defaults = {name: own[name].default for name in types}
    for group in groups.values():
        types |= get_type_hints(group, include_extras=True)
        defaults |= {part.name: part.default for part in fields(group)}

    @wraps(function)
    def command(**options: Any) -> None:
        made = {
            name: group(**{part.name: options.pop(part.name) for part in fields(group)})
            for name, group in groups.items()
        }
        function(**options, **made)

    kind = inspect.Parameter.KEYWORD_ONLY
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, kind, default=defaults[name], annotation=hint)
            for name, hint in types.items()
        ]
    )
    command.__annotations__ = types
    return command
