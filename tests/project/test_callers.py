"""Which modules call a class: they are read to see what they give it."""

from fxlint.project.index import Project


def test_those_that_call_something_of_that_name_and_define_no_such_class_themselves(tmp_path):
    texts = {
        "block": "class Block:\n    pass\n",
        "model": "from block import Block\n\n\nclass Model:\n    def __init__(self):\n        self.block = Block(4)\n",
        "other": "class Block(Base):\n    pass\n\n\nblock = Block(4)\n",
        "local": "def make():\n    class Block(Base):\n        pass\n\n    return Block(4)\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    project = Project([str(tmp_path / f"{name}.py") for name in texts])
    assert project.callers("Block") == ("model", "local")
    assert project.reads.callers == {"Block": ("model", "local")}
