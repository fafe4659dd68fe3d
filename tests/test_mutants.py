"""The bugs that tools.mutants puts into the package."""

from tools.mutants import plausible


def test_the_text_that_each_bug_replaces_is_in_its_module_once():
    assert len(plausible()) >= 60
