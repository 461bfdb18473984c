"""What a module binds at its top level, and where other modules are found. Built from syntax alone."""

from __future__ import annotations

import ast
import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from fxlint.project.buffers import content, noting
from fxlint.project.reads import TORN, Found, Reads
from fxlint.project.source import SourceFile, UnreadableSource, read

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module


@dataclass(frozen=True, slots=True)
class Import:
    """``import module`` (name None) or ``from module import name``; ``module`` is absolute."""

    module: str
    name: str | None


@dataclass(frozen=True, slots=True)
class Binding:
    """One way in which a name gets its value. ``weak`` bindings count only where no other one exists.

    ``needs`` are the modules that the body of a try statement imports beside the binding: without them a handler runs.
    """

    node: ast.AST
    value: ast.expr | None = None
    imported: Import | None = None
    weak: bool = False
    element: tuple[int, ...] = ()  # position inside an unpacked value: ``a, (b, c) = v`` binds c at (1, 1)
    needs: tuple[str, ...] = ()


@dataclass(eq=False, slots=True)
class ModuleIndex:
    """The top level of one file: bindings by name, star imports, names given to ``torch.fx.wrap``."""

    name: str
    source: SourceFile
    is_package: bool
    linted: bool
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    wraps: set[str] = field(default_factory=set)
    mutated: set[str] = field(default_factory=set)
    wrap_misuses: list[ast.expr] = field(default_factory=list)

    def classes(self) -> Iterator[tuple[str, ast.ClassDef]]:
        """All classes with their qualified names, nested ones and those made in functions too."""
        yield from _classes(self.source.tree.body, "")


def _classes(body: Iterable[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.ClassDef]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield prefix + node.name, node
            yield from _classes(node.body, prefix + node.name + ".")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue  # a class made in a function has no name that others can reach
        elif isinstance(node, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
            for inner in _bodies(node):
                yield from _classes(inner, prefix)


def _bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        inner = getattr(node, name, None)
        if inner:
            yield inner
    for handler in getattr(node, "handlers", ()):
        yield handler.body


def build_index(name: str, source: SourceFile, is_package: bool, linted: bool) -> ModuleIndex:
    """Collect the bindings of a module's top level."""
    index = ModuleIndex(name, source, is_package, linted)
    _collect(index, source.tree.body, weak=False)
    if "wrap" in source.text and "fx" in source.text:
        index.wrap_misuses.extend(_wrap_misuses(source.tree.body, top=True))
    return index


def absolute(index_name: str, is_package: bool, module: str | None, level: int) -> str:
    """The absolute name of ``from <dots><module> import ...`` inside module ``index_name``."""
    if not level:
        return module or ""
    parts = index_name.split(".")
    parts = parts[: len(parts) - level + (1 if is_package else 0)]
    return ".".join([*parts, module] if module else parts)


def imports(node: ast.Import | ast.ImportFrom, name: str, is_package: bool) -> Iterator[tuple[str, Import]]:
    """The names that an import statement binds (``*`` for a star import)."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname:
                yield alias.asname, Import(alias.name, None)
            else:
                yield alias.name.split(".")[0], Import(alias.name.split(".")[0], None)
    else:
        module = absolute(name, is_package, node.module, node.level)
        for alias in node.names:
            yield alias.asname or alias.name, Import(module, alias.name)


def _collect(index: ModuleIndex, body: Sequence[ast.stmt], weak: bool, needs: tuple[str, ...] = ()) -> None:
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            _bind(index, node.name, Binding(node, weak=weak, needs=needs))
            if isinstance(node, ast.FunctionDef) and any(_is_wrap(d) for d in node.decorator_list):
                index.wraps.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for bound, imported in imports(node, index.name, index.is_package):
                if bound == "*":
                    index.stars.append(imported.module)
                else:
                    _bind(index, bound, Binding(node, imported=imported, weak=weak, needs=needs))
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                _assign(index, target, Binding(node, node.value, weak=weak, needs=needs))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            _assign(index, node.target, Binding(node, node.value, weak=weak, needs=needs))
        elif isinstance(node, ast.AugAssign):
            _mark_mutated(index, node.target)
        elif isinstance(node, ast.Expr):
            _expression(index, node.value)
        elif isinstance(node, ast.If):
            taken = not (_is_type_checking(node.test) or _asks_environment(node.test))
            _collect(index, node.body, weak or not taken, needs)
            _collect(index, node.orelse, weak or taken, needs)
        elif isinstance(node, _TRY):
            inside = (*needs, *_imported_modules(index, node.body)) if node.handlers else needs
            _collect(index, node.body, weak, inside)
            for handler in node.handlers:
                _collect(index, handler.body, True, needs)
            _collect(index, node.orelse, weak, inside)
            _collect(index, node.finalbody, weak, needs)
        elif isinstance(node, (ast.With, ast.For, ast.While)):
            if isinstance(node, ast.For):
                for name in ast.walk(node.target):
                    if isinstance(name, ast.Name):
                        _bind(index, name.id, Binding(node, weak=True))
            _collect(index, node.body, weak, needs)


def _imported_modules(index: ModuleIndex, body: Sequence[ast.stmt]) -> tuple[str, ...]:
    statements = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return tuple(found.module for node in statements for _, found in imports(node, index.name, index.is_package))


# ``except*`` has a node of its own since Python 3.11, with the fields of Try.
_TRY: tuple[type[ast.Try], ...] = (ast.Try, getattr(ast, "TryStar", ast.Try))


def _bind(index: ModuleIndex, name: str, binding: Binding) -> None:
    index.bindings.setdefault(name, []).append(binding)


def _assign(index: ModuleIndex, target: ast.expr, binding: Binding) -> None:
    if isinstance(target, ast.Name):
        _bind(index, target.id, binding)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for position, part in enumerate(target.elts):
            _assign(index, part, replace(binding, element=(*binding.element, position)))
    else:
        _mark_mutated(index, target)


def _mark_mutated(index: ModuleIndex, target: ast.expr) -> None:
    while isinstance(target, (ast.Subscript, ast.Attribute)):
        target = target.value
    if isinstance(target, ast.Name):
        index.mutated.add(target.id)


def _expression(index: ModuleIndex, value: ast.expr) -> None:
    if not isinstance(value, ast.Call):
        return
    if _is_wrap(value.func) and value.args:
        argument = value.args[0]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            index.wraps.add(argument.value)
        elif isinstance(argument, ast.Name):
            index.wraps.add(argument.id)
    elif isinstance(value.func, ast.Attribute) and value.func.attr in {"update", "append", "extend", "setdefault"}:
        _mark_mutated(index, value.func.value)


def _is_wrap(node: ast.expr) -> bool:
    """``torch.fx.wrap`` / ``fx.wrap`` / ``wrap`` (taken to be fx's where a module imports it from there)."""
    text = ast.unparse(node) if isinstance(node, (ast.Attribute, ast.Name)) else ""
    return text in {"torch.fx.wrap", "fx.wrap", "torch.fx._symbolic_trace.wrap"}


def _wrap_misuses(body: Iterable[ast.stmt], top: bool) -> Iterator[ast.expr]:
    """Uses of ``torch.fx.wrap`` below the top level, on methods, or on what is no global of the file."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if not top or isinstance(node, ast.ClassDef):
                yield from (decorator for decorator in node.decorator_list if _is_wrap(decorator))
            yield from _wrap_misuses(node.body, top=False)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _is_wrap(node.value.func):
            given = node.value.args[0] if node.value.args else None
            plain = isinstance(given, ast.Name) or (isinstance(given, ast.Constant) and str(given.value).isidentifier())
            if not top or not plain:
                yield node.value
        else:
            for inner in _bodies(node):
                yield from _wrap_misuses(inner, top)


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _asks_environment(test: ast.expr) -> bool:
    """Whether the test is ``"NAME" in os.environ``: environment variables are taken not to be set."""
    if not (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.In)):
        return False
    container = test.comparators[0]
    return isinstance(container, (ast.Name, ast.Attribute)) and ast.unparse(container) in {"os.environ", "environ"}


_CALLED: Final = re.compile(rb"\b(_*[A-Z]\w*)\(")
_DEFINED: Final = re.compile(rb"^class (\w+)", re.MULTILINE)


class Project:
    """Modules by dotted name: the linted files, and on demand others on the search path (source only).

    ``reads`` collects what its answers were drawn from; who wants to know sets it to a new one before asking.
    """

    def __init__(self, paths: Sequence[str], search_path: Sequence[Path] = ()) -> None:
        self.reads = Reads()
        self._noted: dict[str, str | None] = {}
        self._found: dict[str, Found | None] = {}
        self._modules: dict[str, ModuleIndex | None] = {}
        self._search_path = [str(folder) for folder in search_path]
        self._folders: dict[str, frozenset[str]] = {}
        self._bytes: dict[str, bytes] = {}
        self._linted: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._paths = {os.path.abspath(path): path for path in paths}
        self._callers: dict[str, list[str]] | None = None
        self.size = 0  # characters of source that are held as syntax trees
        for path in paths:
            folder, name = self._name_of(path)
            self._names[path] = name
            self._linted.setdefault(name, path)
            if folder not in self._search_path:
                self._search_path.insert(0, folder)

    def load(self, path: str) -> ModuleIndex:
        """The module of a file to be linted. Raises UnreadableSource."""
        name = self._names[path]
        index = self._modules.get(name)
        try:
            if index is None or index.source.path != path:
                index = self._read(name, path, path)
        finally:
            self._note(path)
        if self._linted[name] == path:
            self._modules[name] = index
        return index

    def forget(self) -> None:
        """Drop all syntax trees; they are read again when they are needed."""
        self._modules.clear()
        self._bytes.clear()
        self.size = 0

    def _read(self, name: str, path: str, file: str) -> ModuleIndex:
        with self._noting():
            source = read(path, Path(file))
        self.size += len(source.text)
        return build_index(name, source, os.path.basename(file) == "__init__.py", linted=name in self._linted)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Remember what the files hold that are read within it: answers are drawn from them later too."""
        with noting() as noted:
            try:
                yield
            finally:
                for path, seen in noted.items():
                    self._noted[path] = seen if self._noted.get(path, seen) == seen else TORN

    def _note(self, path: str) -> None:
        """An answer is drawn from the file at ``path``, which was read now or before."""
        file = os.path.abspath(path)
        self.reads.note({file: self._noted.get(file)})

    def module(self, name: str) -> ModuleIndex | None:
        """The module of that name, or None where no source is found for it."""
        found = self.reads.modules[name] = self.found(name)
        if found is None:
            return None
        path, linted_as = found
        if name not in self._modules:
            self._modules[name] = None
            with contextlib.suppress(UnreadableSource):
                self._modules[name] = self._read(name, path, path) if linted_as is None else self.load(path)
        self._note(path)
        return self._modules[name]

    def found(self, name: str) -> Found | None:
        """Where the module of that name is."""
        if name not in self._found:
            path = self._linted.get(name)
            if path is None and (file := self._find(name)) is not None:
                path = self._paths.get(os.path.abspath(file))  # a linted file has other names in namespace packages
                self._found[name] = (file.replace(os.sep, "/"), None) if path is None else (path, self._names[path])
            else:
                self._found[name] = None if path is None else (path, name)
        return self._found[name]

    def answers_as(self, reads: Reads) -> bool:
        """Whether names still mean what they meant when ``reads`` were collected; contents are another matter."""
        return (
            all(self.found(name) == found for name, found in reads.modules.items())
            and all(self._exists(name) == exists for name, exists in reads.installed.items())
            and all((name in self._linted) == linted for name, linted in reads.linted.items())
            and all(self._callers_of(name) == callers for name, callers in reads.callers.items())
        )

    def identity(self, path: str) -> tuple[str, str, str, str, bool]:
        """What a file to be linted is to the others and to the settings: its place, also behind symbolic links, its
        name, and whether all that is installed is known.
        """
        return path, os.path.abspath(path), os.path.realpath(path), self._names[path], self.has_packages

    @property
    def has_packages(self) -> bool:
        """Whether installed packages are on the search path, so that what is not found is not installed."""
        return any(os.path.basename(folder) in {"site-packages", "dist-packages"} for folder in self._search_path)

    def is_linted(self, name: str) -> bool:
        self.reads.linted[name] = name in self._linted
        return name in self._linted

    def exists(self, name: str) -> bool:
        """Whether anything of that name is installed, be it source, a package folder or a compiled extension."""
        found = self.reads.installed[name] = self._exists(name)
        return found

    def _exists(self, name: str) -> bool:
        parts = name.split(".")
        for folder in self._search_path:
            entries = self._entries(os.path.join(folder, *parts[:-1]))
            if parts[-1] in entries or any(entry.startswith(parts[-1] + ".") for entry in entries):
                return True
        return False

    def may_bind(self, module: str, name: str) -> bool:
        """Whether a module could bind a name, judged by its bytes: for star imports, without parsing what they name.

        Definitions and assignments count, and further star imports; names that the module only imports itself do not.
        """
        found = self.reads.modules[module] = self.found(module)
        if found is None:
            return False
        if module not in self._bytes:
            self._bytes[module] = b""
            with contextlib.suppress(OSError), self._noting():
                self._bytes[module] = content(found[0])
        self._note(found[0])
        raw = self._bytes[module]
        word = name.encode()
        definitions = (b"class " + word, b"def " + word, b"\n" + word, b"import " + word)
        return b"import *" in raw or any(definition in raw for definition in definitions)

    def callers(self, name: str) -> Sequence[str]:
        """The linted modules whose text calls something of that name, which begins with a capital letter, and which
        define no class of that name themselves.
        """
        found = self.reads.callers[name] = self._callers_of(name)
        return found

    def _callers_of(self, name: str) -> tuple[str, ...]:
        if self._callers is None:
            self._callers = {}
            for path, module in self._names.items():
                try:
                    with self._noting():
                        text = content(path)
                except OSError:
                    continue
                for word in {*_CALLED.findall(text)}.difference(_DEFINED.findall(text)):
                    self._callers.setdefault(word.decode(), []).append(module)
        return tuple(self._callers.get(name, ()))

    def _find(self, name: str) -> str | None:
        relative = name.split(".")
        for folder in self._search_path:
            parent = os.path.join(folder, *relative[:-1])
            entries = self._entries(parent)
            if relative[-1] in entries:
                package = os.path.join(parent, relative[-1])
                if "__init__.py" in self._entries(package):
                    return os.path.join(package, "__init__.py")
            if relative[-1] + ".py" in entries:
                return os.path.join(parent, relative[-1] + ".py")
        own = os.path.join(os.path.dirname(os.__file__), name + ".py")  # of the standard library that runs this
        return own if os.path.isfile(own) else None

    def _name_of(self, path: str) -> tuple[str, str]:
        """(folder to search from, dotted name) of a source file, by the packages that enclose it."""
        folder, base = os.path.split(os.path.abspath(path))
        innermost = os.path.basename(folder)
        parts = [] if base == "__init__.py" else [os.path.splitext(base)[0]]
        while "__init__.py" in self._entries(folder) and os.path.basename(folder):
            folder, package = os.path.split(folder)
            parts.insert(0, package)
        return folder, ".".join(parts) or innermost

    def _entries(self, folder: str) -> frozenset[str]:
        if folder not in self._folders:
            try:
                self._folders[folder] = frozenset(os.listdir(folder or "."))
            except OSError:
                self._folders[folder] = frozenset()
        return self._folders[folder]
