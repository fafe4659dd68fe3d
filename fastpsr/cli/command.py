"""What all commands have in common: they refuse what would be ignored, before any work."""

from typing import Any

from typer.core import TyperCommand

from fastpsr.kernels.blocks import thread_count

__all__ = ["Command"]


class Command(TyperCommand):
    """A command whose options stand once, but for those that take several values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, after a look at the order of what was given: of an option the last would count."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for option in self.params:
            n_given = order.count(option)
            if option.param_type_name == "option" and n_given > 1 and not option.multiple:
                ctx.fail(f"{option.opts[0]} must be given once, not {n_given} times")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run it, where the environment is in order: an error of that is not one of a file."""
        thread_count()
        return super().invoke(ctx)
