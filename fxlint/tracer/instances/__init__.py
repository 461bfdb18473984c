"""From a file and a name to something that can be traced, or one clear line that says why not.

An instance is always told as a Python expression, for people to read and for every process to evaluate anew. A *survey*
of the package (``survey.py``) looks for expressions once, before anything is traced: it runs in the worker, in a
supervised process that has imported the files. What it finds goes to the parent, which hands every root its share with
the work of tracing. So each model is built once to see what is in it, whatever file its parts are defined in, and once
more where one of them is traced.

The reading of sources that this takes happens in the worker too, with ``ast``, and not in the parent: what a name in a
constructor or in an example means is a question to the imported modules, and the answers (a class, its signature, the
values of a registry) are live objects that no message could carry.
"""

from .building import Builder, Candidate, copied, evaluate, prebuild, told_in_a_line
from .strategies import candidates
from .targets import CannotBuildError, Target, find, load_module

__all__ = [
    "Builder",
    "Candidate",
    "CannotBuildError",
    "Target",
    "candidates",
    "copied",
    "evaluate",
    "find",
    "load_module",
    "prebuild",
    "told_in_a_line",
]
