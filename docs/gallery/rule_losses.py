"""Losses of scoring rules.

Losses of scoring rules against the posterior of class 1, where class 1 is true (solid) and where
class 0 is (dashed).
"""

import fastpsr as fp

rules = {"log": fp.rules.Log(), "Brier": fp.rules.Brier(), "Beta(1, 4)": fp.rules.Beta(1, 4)}

ax = fp.plotting.rule_losses(rules)
