"""Which files a run reads."""

import os
from pathlib import Path

import pytest

from fxlint.config import Config, Nearest
from fxlint.files import Files, find_files
from fxlint.findings import Problem
from fxlint.project.buffers import holding


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Makes files in a new working directory: ``tree("a.py", "pkg/b.py")``."""
    monkeypatch.chdir(tmp_path)

    def make(*names: str, **contents: str) -> Path:
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(contents.get(path.name, ""))
        return tmp_path

    return make


def find(*paths: str, **settings: object) -> Files:
    config = Config(Path.cwd(), **settings)
    return find_files(paths, lambda _: config)


def test_a_folder_is_walked_in_the_order_of_the_names(tree):
    tree("pkg/b.py", "pkg/a.py", "pkg/a/z.py", "pkg/notes.txt", "pkg/stub.pyi")
    assert find("pkg").paths == ("pkg/a/z.py", "pkg/a.py", "pkg/b.py")


@pytest.mark.parametrize(
    ("given", "spelled"),
    [(".", "pkg/a.py"), ("pkg/", "pkg/a.py"), ("./pkg", "./pkg/a.py"), ("../work/pkg", "../work/pkg/a.py")],
)
def test_paths_are_spelled_as_the_user_did(tree, monkeypatch, given, spelled):
    monkeypatch.chdir(tree("work/pkg/a.py") / "work")
    assert find(given).paths == (spelled,)


def test_an_absolute_path_stays_absolute(tree):
    root = tree("pkg/a.py")
    assert find(f"{root}/pkg").paths == (f"{root}/pkg/a.py",)


def test_a_file_that_is_given_twice_is_taken_once_as_first_spelled(tree):
    tree("pkg/a.py", "pkg/b.py")
    assert find("pkg/b.py", "./pkg", "pkg/a.py").paths == ("pkg/b.py", "./pkg/a.py")


def test_a_named_file_is_always_taken(tree):
    tree("build/script", "build/gen.py", ".gitignore", **{".gitignore": "gen.py\n"})
    assert find("build/script", "build/gen.py").paths == ("build/script", "build/gen.py")


def test_with_force_patterns_hold_for_what_is_named_too(tree):
    tree("build/a.py", "pkg/gen_b.py", "pkg/c.py", ".git/HEAD", ".gitignore", **{".gitignore": "gen_*.py\n"})
    assert find("build/a.py", "build", "pkg/gen_b.py", "pkg", force_exclude=True).paths == ("pkg/c.py",)


def test_gitignore_files_count_only_where_they_are_respected(tree):
    tree("gen_a.py", "build/b.py", ".gitignore", **{".gitignore": "gen_*.py\n"})
    assert find(".", respect_gitignore=False).paths == ("gen_a.py",)
    assert find("gen_a.py", respect_gitignore=False, force_exclude=True).paths == ("gen_a.py",)


def test_a_file_that_is_held_in_memory_need_not_exist(tree):
    tree("a.py")
    with holding({"b.py": b""}):
        assert find("a.py", "b.py").paths == ("a.py", "b.py")


def test_tool_and_build_folders_are_left_out_by_default(tree):
    tree("a.py", ".venv/lib/b.py", "build/c.py", "node_modules/d.py", "__pycache__/e.py", "src/.tox/f.py")
    assert find(".").paths == ("a.py",)


def test_a_folder_named_by_the_user_is_read_though_a_pattern_leaves_it_out(tree):
    tree(
        ".venv/lib/site-packages/kornia/a.py",
        ".venv/lib/site-packages/kornia/build/b.py",
        ".gitignore",
        ".git/HEAD",
        ".venv/.gitignore",
        **{".gitignore": ".venv/\n"},
    )
    Path(".venv/.gitignore").write_text("*\n")
    assert find(".venv/lib/site-packages/kornia").paths == (".venv/lib/site-packages/kornia/a.py",)


def test_gitignore_files_are_respected_and_the_inner_one_decides(tree):
    tree("keep.py", "gen_a.py", "pkg/gen_b.py", "pkg/gen_c.py", "pkg/out/d.py", ".gitignore", "pkg/.gitignore")
    Path(".gitignore").write_text("gen_*.py\n")
    Path("pkg/.gitignore").write_text("!gen_b.py\n/out/\n")
    assert find(".").paths == ("keep.py", "pkg/gen_b.py")


def test_a_gitignore_above_the_folder_counts_inside_one_repository_only(tree):
    tree("gen.py", "repo/.git/HEAD", "repo/.gitignore", "repo/pkg/gen.py", "repo/pkg/mine.py", "repo/pkg/other.py")
    Path(".gitignore").write_text("other.py\n")
    Path("repo/.gitignore").write_text("gen.py\n")
    assert find("repo/pkg").paths == ("repo/pkg/mine.py", "repo/pkg/other.py")


def test_an_exclude_is_a_gitignore_pattern_from_the_root_and_gitignore_cannot_undo_it(tree):
    root = tree("a.py", "tests/b.py", "pkg/tests/c.py", "pkg/tests/d.py", "pkg/tests/.gitignore")
    Path("pkg/tests/.gitignore").write_text("!c.py\n")
    config = Config(root, exclude=("/tests/", "pkg/**/c.py"))
    assert find_files(["."], lambda _: config).paths == ("a.py", "pkg/tests/d.py")
    assert find_files(["pkg"], lambda _: config).paths == ("pkg/tests/d.py",)


@pytest.mark.parametrize("path", ["a" * 5000, "a/" * 2500, "a\0b"])
def test_a_path_that_no_file_can_have_is_a_problem(tree, path):
    tree("a.py")
    assert find(path, "a.py") == Files(("a.py",), (Problem(path, "no such file or folder"),))


def test_a_missing_path_is_a_problem_and_the_others_are_read(tree):
    tree("a.py")
    assert find("gone", "a.py", "gone.py") == Files(
        ("a.py",), (Problem("gone", "no such file or folder"), Problem("gone.py", "no such file or folder"))
    )
    assert find("").problems == (Problem("", "a path is empty"),)


def test_what_is_neither_file_nor_folder_is_a_problem(tree):
    os.mkfifo(tree() / "pipe.py")
    assert find("pipe.py") == Files((), (Problem("pipe.py", "is neither a file nor a folder"),))
    assert find(".") == Files(())


def test_links_to_folders_are_not_followed(tree):
    Path("pkg/loop").symlink_to(tree("pkg/a.py"))
    assert find(".").paths == ("pkg/a.py",)


def test_a_broken_link_in_a_folder_is_passed_over(tree):
    (tree("a.py") / "b.py").symlink_to("nowhere.py")
    Path("c.py").symlink_to("c.py")
    assert find(".").paths == ("a.py",)
    assert find("c.py").problems == (Problem("c.py", "is neither a file nor a folder"),)


def test_a_file_is_read_once_however_it_is_reached(tree):
    Path("link").symlink_to(tree("pkg/a.py") / "pkg")
    Path("pkg/b.py").symlink_to("a.py")
    assert find("pkg/a.py", "./pkg/a.py", "link/a.py", "pkg").paths == ("pkg/a.py",)
    assert find("link").paths == ("link/a.py",)


def test_in_a_folder_with_a_configuration_of_its_own_that_one_says_what_is_left_out(tree):
    root = tree("a.py", "gen.py", "old/a.py", "pkg/gen.py", "pkg/old/b.py", "pkg/sub/new.py")
    (root / "fxlint.toml").write_text("exclude = ['gen.py', '/old/']")
    (root / "pkg" / "fxlint.toml").write_text("exclude = ['new.py', '/sub/old/']\nrespect-gitignore = false")
    (root / ".gitignore").write_text("b.py")
    assert find_files(["."], Nearest()).paths == ("a.py", "pkg/gen.py", "pkg/old/b.py")
    assert find_files(["pkg/sub/new.py"], Nearest(["force-exclude = true"])).paths == ()


def test_a_folder_that_is_left_out_needs_no_configuration_that_can_be_read(tree):
    root = tree("a.py", "broken/b.py")
    (root / "broken" / "pyproject.toml").write_text("[")
    (root / "fxlint.toml").write_text("exclude = ['broken/']")
    assert find_files(["."], Nearest()).paths == ("a.py",)
