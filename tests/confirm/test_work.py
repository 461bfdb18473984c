"""What the workers are asked."""

import pytest

from fxlint.confirm.settings import ConfirmSettings
from fxlint.confirm.tries import try_id
from fxlint.confirm.work import batches
from fxlint.findings import Finding, Location, ModuleReport, Predicted, Prediction, Root, Suggestion
from fxlint.project.naming import module_name


@pytest.fixture
def package(tmp_path):
    for name in (
        "pkg/__init__.py",
        "pkg/sub/__init__.py",
        "pkg/sub/net.py",
        "pkg/other.py",
        "free/my-net.v2.py",
        "free/a.py",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


@pytest.mark.parametrize(
    ("file", "name", "folder", "dotted"),
    [
        ("pkg/sub/net.py", "pkg.sub.net", ".", True),
        ("pkg/sub/__init__.py", "pkg.sub", ".", True),
        ("free/a.py", "a", "free", False),
        ("free/my-net.v2.py", "my-net_v2", "free", False),
    ],
)
def test_the_name_of_a_file(package, file, name, folder, dotted):
    found = module_name(package / file)
    assert (found.name, found.folder, found.package) == (name, str(package / folder), dotted)


def root(path, qualname="Net", instances=()):
    return ModuleReport(Root(str(path), qualname, 1, "class", instances), Predicted("unknown"))


def test_files_of_a_package_share_a_process_and_others_do_not(package):
    paths = [package / name for name in ("pkg/sub/net.py", "pkg/other.py", "free/a.py", "free/my-net.v2.py")]
    work = batches(Prediction(tuple(map(root, paths))), ConfirmSettings())
    assert sorted([len(batch["files"]) for batch in work]) == [1, 1, 2]


def test_what_a_root_is_asked(package):
    path = package / "pkg/other.py"
    settings = ConfirmSettings(
        instances={"pkg.other:Net": ("Net(2)",)},
        inputs={f"{path}::Net": "(1,)"},
        timeout=7.0,
        roots=(str(package / "free"),),
    )
    (batch,) = batches(Prediction((root(path, instances=("Net(1)",)),)), settings)
    (spec,) = batch["files"]
    assert spec["sys_path"] == [str(package), str(package / "free")]
    assert batch["seconds"] == 7.0
    assert spec["roots"] == [
        {
            "id": f"{path}::Net",
            "kind": "class",
            "qualname": "Net",
            "instances": ["Net(1)", "Net(2)"],
            "found": [],
            "why_none": None,
            "inputs": "(1,)",
            "concrete_args": None,
            "suggestions": [],
            "watch": {},
            "goals": [],
            "silent": [],
        }
    ]


def test_a_suggestion_is_tried_on_a_few_roots_the_declared_ones_first(package):
    path = str(package / "pkg/other.py")
    modules = [root(path, name) for name in "ABCD"] + [root(path, "E", ("E(1)",))]
    bind = Suggestion("concrete_args", "bind", concrete_args="{'a': 1}")
    note = Suggestion("leaf", "make it a leaf")
    place = Location(path, 1, 1, 1, 2)
    one = Finding(
        "FX105",
        "flag",
        "error",
        place,
        "m",
        "bool.flag",
        tuple(module.root.id for module in modules),
        suggestions=(note, bind),
    )
    (batch,) = batches(Prediction(tuple(modules), (one,)), ConfirmSettings())
    asked = {spec["qualname"]: spec["suggestions"] for spec in batch["files"][0]["roots"] if spec["suggestions"]}
    job = {"id": try_id(bind), "expr": "{'a': 1}", "at": None}
    assert asked == {"A": [job], "B": [job], "E": [job]}


def test_a_root_is_watched_where_something_is_predicted_for_it_and_nothing_is_looked_for_at_its_head(package):
    path = str(package / "pkg/other.py")
    modules = [root(path, "A"), root(path, "B")]
    findings = [
        Finding("FX105", "flag", "error", Location(path, 1, 1, 2, 2), "m", "bool.flag", (modules[0].root.id,)),
        Finding("FX160", "output", "error", Location(path, 5, 1, 5, 2), "m", "output.type", (modules[0].root.id,)),
    ]
    (batch,) = batches(Prediction(tuple(modules), tuple(findings)), ConfirmSettings())
    first, second = batch["files"][0]["roots"]
    assert (first["watch"], first["goals"]) == ({path: [(1, 2), (5, 5)]}, [(path, 1, 2)])
    assert (second["watch"], second["goals"]) == ({}, [])
