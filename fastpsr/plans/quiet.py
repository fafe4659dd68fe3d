"""Plans without warnings."""

import warnings
from types import GeneratorType
from typing import Any, TypeVar

import numpy as np

from fastpsr.errors import kept_warnings
from fastpsr.plans.steps import Plan

__all__ = ["quietly"]

Result = TypeVar("Result")


def quietly(plan: Plan[Result]) -> Plan[Result]:
    """Plan: run a plan, and those that it asks for, whose warnings are not of what was asked."""
    answers: Any = None
    error: ValueError | None = None
    while True:
        with warnings.catch_warnings(), np.errstate(all="ignore"), kept_warnings():
            warnings.simplefilter("ignore")
            try:
                requests = plan.send(answers) if error is None else plan.throw(error)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]
        answers = error = None
        try:
            answers = yield [
                quietly(each) if isinstance(each, GeneratorType) else each for each in requests
            ]
        except ValueError as raised:
            error = raised
