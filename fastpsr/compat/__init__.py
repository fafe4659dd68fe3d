"""Functions with the names and signatures of other packages, one module per package.

They are imported only when asked for: ``from fastpsr.compat.speechbrain import EER``.
"""
