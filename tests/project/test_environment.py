"""Interpreters and their packages, found from the file system alone."""

import sys

from fxlint.project.environment import interpreters


def test_an_environment_that_no_folder_can_be_is_passed_over(tmp_path):
    assert list(interpreters({"VIRTUAL_ENV": "/" + "a" * 5000}, [str(tmp_path)])) == [sys.executable]
