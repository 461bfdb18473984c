"""What an argument may be: from its annotation, its name and what the constructor does with it.

A guess is the text of an expression. The numbers divide each other: 32 channels, 4 heads of 8, images of 32 in patches
of 4.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import itertools
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from .naming import name_of
from .usage import Usage, usages

MAX_OPTIONS = 10
MAX_DEPTH = 3
SHALLOW = re.compile(r"^(num_(hidden_)?layers|n_layers?|num_blocks|depth|(en|de)coder_layers)$")
"""Fields of a configuration that only say how often something is repeated."""

_INTS = (
    (r"num_attention_heads|n?_?heads?$|nhead|num_key_value_heads|head_num", "4"),
    (r"head_(dim|size)|dim_head|per_head", "8"),
    (r"(^|_)(layer_)?(idx|index|id|pos|offset|start|level)$", "0"),
    (r"window", "4"),
    (r"kernel|ksize|^k$|ks$|block_size", "3"),
    (r"stride|dilation|^groups?$|group_?width|cardinality", "1"),
    (r"pad", "1"),
    (r"layers|blocks|depth|stages|repeats|levels|scales|num_convs|iters|^n$|steps|hops", "2"),
    (r"ratio|mult|expan|factor|reduction|^r$|scale|rate", "2"),
    (r"class|labels", "10"),
    (r"patch", "4"),
    (r"im(age|g)|resolution|^size$|input_size|height|width|^h$|^w$|crop|out(put)?_size|feat_size|grid|^resize", "32"),
    (r"seq|length|token|max_|len$|position", "16"),
    (r"vocab|embeddings$", "64"),
    (r"groups|num_norm", "4"),
    (r"feat|chan|dim|ch(s|i|o|ls)?$|ch_|hidden|inner|embed|plane|filter|^in|^out|_in|_out|inp$|oup$|^c\d?$", "32"),
    (r"size|units|^d_|_d$|model", "32"),
    (r"bits|num|^n_", "4"),
)
_FLOATS = (
    (r"drop|^p$|prob", "0.1"),
    (r"eps", "1e-5"),
    (r"ratio|mult|expan|factor", "2.0"),
    (r"lower|min|low", "0.1"),
    (r"sigma|scale|gain|gamma|std|temp|norm|alpha|beta|init|weight|max|upper|high|width", "1.0"),
)
_STRINGS = (
    (r"act|nonlin", ("relu", "gelu", "silu")),
    (r"norm", ("batch", "bn", "layer", "layernorm")),
    (r"pad", ("zeros", "same", "valid")),
    (r"reduc", ("mean", "none")),
    (r"interp|resample|upsampl|mode", ("bilinear", "nearest", "bicubic")),
    (r"pool", ("avg", "max", "token", "mean")),
    (r"border", ("reflect", "constant")),
    (r"model|arch|variant|backbone|name", ("base", "small", "default")),
)
_TYPES = (
    (r"act|nonlin|gate", ("torch.nn.ReLU", "torch.nn.Identity")),
    (r"norm|bn", ("torch.nn.BatchNorm2d", "torch.nn.LayerNorm", "torch.nn.Identity")),
    (r"conv", ("torch.nn.Conv2d", "torch.nn.Identity")),
    (r"pool", ("torch.nn.AvgPool2d", "torch.nn.Identity")),
    (r"linear|proj|fc", ("torch.nn.Linear", "torch.nn.Identity")),
    (r"drop", ("torch.nn.Dropout", "torch.nn.Identity")),
)
_MODULES = (
    (r"act|nonlin", ("torch.nn.ReLU()",)),
    (r"norm", ("torch.nn.BatchNorm2d(32)",)),
    (r"conv", ("torch.nn.Conv2d(32, 32, 3, padding=1)",)),
    (r"linear|proj|fc", ("torch.nn.Linear(32, 32)",)),
)
_ANY_MODULE = ("torch.nn.Identity()", "torch.nn.Conv2d(32, 32, 3, padding=1)", "torch.nn.Linear(32, 32)")
_MODULE_NAME = re.compile(
    r"module|model|encoder|decoder|backbone|head$|layer$|block$|^net|network|trunk|^fn$|embedder|extractor|stem|body|neck"
    r"|^(act|norm|conv|proj|pool|attn|mlp|loss)(_layer)?$|criterion|transform$|detector|descriptor|matcher"
)
_MODULES_NAME = re.compile(r"modules|layers_list|blocks$|^transforms$|encoders|^args$|^models$")
_CONFIG_NAME = re.compile(r"^(cfg|config|conf|args|opt|options|hparams|params|settings)$|_(cfg|config)$")
_TENSOR_NAME = re.compile(r"mean|std|matrix|vector|tensor|anchors|weights?$|buffer|points|intrinsics|extrinsics")


def by_name(table: tuple[tuple[str, Any], ...], name: str, default: Any) -> Any:
    """The entry of the first pattern that is found in a parameter's name."""
    return next((value for pattern, value in table if re.search(pattern, name)), default)


def an_int(name: str) -> str:
    return str(by_name(_INTS, name.lower(), "4"))


@dataclass
class Context:
    """What guesses draw on besides the parameter itself.

    ``known(cls, attributes)`` gives expressions of modules that were built: instances of ``cls`` that have these
    attributes. ``build(text)`` is the value of an expression; it raises what the expression raises.
    """

    known: Callable[[type, frozenset[str]], list[str]]
    build: Callable[[str], Any]


def options(
    cls: Any, parameter: inspect.Parameter, hint: Any, usage: Usage, context: Context, depth: int = 0
) -> list[str]:
    """Guesses for one argument, best first."""
    guess = _Guess(cls, parameter.name, usage, context, depth)
    found: list[str] = []
    if hint is not None and hint is not inspect.Parameter.empty:
        found += guess.annotated(hint)
    if parameter.default not in (parameter.empty, None) and not found:
        found += guess.like(parameter.default)
    found += guess.used()
    found += guess.handed_on()
    if not found or set(found) == {"None"}:
        found += guess.named()
    return list(dict.fromkeys(found))[:MAX_OPTIONS]


def hints_of(call: Any) -> dict[str, Any]:
    """The annotations of a constructor or function as objects, as far as they can be evaluated."""
    function = inspect.getattr_static(call, "__init__", None) if isinstance(call, type) else call
    if not isinstance(function, types.FunctionType):
        return {}
    try:
        return typing.get_type_hints(function)
    except Exception:  # one name that is not defined spoils them all
        pass
    found = {}
    for name, annotation in function.__annotations__.items():
        if not isinstance(annotation, str):
            found[name] = annotation
            continue
        try:
            found[name] = eval(annotation, {**vars(typing), **function.__globals__})
        except Exception:
            continue
    return found


class _Guess:
    def __init__(self, cls: Any, name: str, usage: Usage, context: Context, depth: int) -> None:
        self._cls = cls
        self._name = name.lower()
        self._usage = usage
        self._context = context
        self._depth = depth

    # ---- from the annotation

    def annotated(self, hint: Any) -> list[str]:
        """Guesses of an annotated type."""
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            return self.annotated(arguments[0])
        if origin is typing.Literal:
            return [repr(one) for one in arguments]
        if origin is typing.Union or isinstance(hint, types.UnionType):
            return self._union(arguments)
        if isinstance(hint, typing.TypeVar):
            bound = hint.__bound__ or (hint.__constraints__ or (None,))[0]
            return self.annotated(bound) if bound is not None else []
        if hint is Any or hint is object:
            return []
        if hint is None or hint is type(None):
            return ["None"]
        if origin is type or hint is type:
            return self._types(arguments[0] if arguments else torch.nn.Module)
        if origin in (collections.abc.Callable, Callable) or hint in (typing.Callable, collections.abc.Callable):
            return self._callable(arguments[-1] if arguments else Any)
        if origin is not None or hint in (list, tuple, dict, set):
            return self._container(origin or hint, arguments)
        return self._plain(hint)

    def _union(self, arms: tuple[Any, ...]) -> list[str]:
        real = [self.annotated(arm) for arm in arms if arm is not type(None)]
        firsts = [one for group in itertools.zip_longest(*real) for one in group if one is not None]
        return [*firsts[: MAX_OPTIONS - 1], *(["None"] if type(None) in arms else [])]

    def _container(self, origin: Any, arguments: tuple[Any, ...]) -> list[str]:
        if not isinstance(origin, type):
            return []
        if issubclass(origin, collections.abc.Mapping):
            return self._dictionaries()
        if issubclass(origin, tuple) and arguments and arguments[-1] is not Ellipsis and arguments != ((),):
            elements = [self._element(one)[0] for one in arguments]
            return [f"({', '.join(elements)},)"]
        if issubclass(origin, (collections.abc.Iterable, collections.abc.Collection)):
            inner = self._element(arguments[0]) if arguments else [an_int(self._name)]
            left, right = ("(", ",)") if issubclass(origin, tuple) else ("[", "]")
            return [f"{left}{', '.join([one] * length)}{right}" for one in inner[:3] for length in self._lengths()]
        return []

    def _element(self, hint: Any) -> list[str]:
        return self.annotated(hint) or [an_int(self._name)]

    def _lengths(self) -> tuple[int, ...]:
        if self._usage.unpacked is not None:
            return (self._usage.unpacked,)
        wanted = max((index + 1 for index in self._usage.indices if isinstance(index, int)), default=2)
        return (max(wanted, 2), 4, 3, 1)

    def _plain(self, hint: Any) -> list[str]:
        if hint is bool:
            return ["False", "True"]
        if hint is int:
            return self._ints()
        if hint is float:
            return [by_name(_FLOATS, self._name, "0.5"), "1.0", "2.0"]
        if hint is str:
            return self._strings()
        if not isinstance(hint, type):
            return []
        if issubclass(hint, enum.Enum):
            texts = (name_of(hint), [member.name for member in hint])
            return [f"{texts[0]}.{member}" for member in texts[1][:4]] if texts[0] else []
        if issubclass(hint, torch.Tensor):
            return self._tensors(hint)
        if issubclass(hint, torch.nn.Module):
            return self._instances_of(hint)
        if hint is torch.dtype:
            return ["torch.float32"]
        if hint is torch.device:
            return ["torch.device('cpu')"]
        if issubclass(hint, torch.Size):
            return ["torch.Size([32, 32])"]
        if hint.__module__.partition(".")[0] == "numpy" and hint.__name__ == "ndarray":
            return ["numpy.eye(3)", "numpy.ones((3,))"]
        if hint.__module__ in ("pathlib", "builtins", "typing", "os"):
            return []
        return self.objects_of(hint)

    def _ints(self) -> list[str]:
        first = an_int(self._name)
        return list(dict.fromkeys([first, "32", "1", "4", "2", "8", "64", "3"]))

    def _strings(self) -> list[str]:
        named = by_name(_STRINGS, self._name, ("default", "a"))
        return [repr(one) for one in dict.fromkeys([*self._usage.strings, *named])]

    def _tensors(self, hint: type) -> list[str]:
        if issubclass(hint, torch.nn.Parameter):
            return ["torch.nn.Parameter(torch.ones(32))"]
        if "matri" in self._name or "intrinsic" in self._name:
            return ["torch.eye(3)", "torch.eye(4)[None]", "torch.eye(3)[None]"]
        return ["torch.ones(32)", "torch.ones(3)", "torch.ones(1, 3)", "torch.eye(3)", "torch.ones(1, 32, 32)"]

    def _dictionaries(self) -> list[str]:
        keys = [key for key in self._usage.indices if isinstance(key, str)]
        return [f"{{{', '.join(f'{key!r}: {an_int(key)}' for key in sorted(keys))}}}"]

    # ---- modules, types of modules, objects of other classes

    def _types(self, base: Any) -> list[str]:
        """Classes to be called by the constructor."""
        if isinstance(base, type) and base is not torch.nn.Module and base.__module__.partition(".")[0] != "torch":
            own = [name_of(one) for one in (base, *self._classes_beside(base))]
            return [one for one in own if one is not None]
        named = by_name(_TYPES, self._name, ())
        beside = [one for one in map(name_of, self._fitting_classes()) if one is not None]
        if "block" in self._name or ("layer" in self._name and not named):
            return [*beside[:4], *named, "torch.nn.Identity"]
        return [*named, *beside[:3], "torch.nn.Identity"]

    def _classes_beside(self, base: type) -> list[type]:
        scope = vars(sys.modules[self._cls.__module__])
        return [one for one in scope.values() if isinstance(one, type) and issubclass(one, base) and one is not base]

    def _fitting_classes(self) -> Iterator[type]:
        """Module classes of the same file that take the arguments with which the constructor calls this one."""
        scope = vars(sys.modules[self._cls.__module__])
        for one in scope.values():
            if (
                isinstance(one, type)
                and issubclass(one, torch.nn.Module)
                and one.__module__ == self._cls.__module__
                and one is not self._cls
                and all(hasattr(one, attribute) for attribute in self._usage.attributes if attribute != "__name__")
                and all(_takes(one, count, keywords) for count, keywords in self._usage.calls)
            ):
                yield one

    def _callable(self, result: Any) -> list[str]:
        """A class or a function for the constructor to call, or a function for forward."""
        makes_module = isinstance(result, type) and issubclass(result, torch.nn.Module)
        if self._usage.calls or makes_module:
            return self._types(torch.nn.Module)
        if self._usage.called_in_forward:
            return ["torch.relu", "torch.nn.Identity()", "torch.nn.Identity"]
        return [*self._types(torch.nn.Module), "torch.relu", "torch.nn.Identity()"]

    def _instances_of(self, base: type) -> list[str]:
        known = self._context.known(base, frozenset(self._usage.attributes))
        if base is torch.nn.Module:
            fitting = [one for one in by_name(_MODULES, self._name, ()) if not self._usage.attributes]
            return list(dict.fromkeys([*fitting, *_ANY_MODULE[:1], *known[:3], *_ANY_MODULE[1:]]))
        if base is torch.nn.ModuleList:
            return ["torch.nn.ModuleList([torch.nn.Identity(), torch.nn.Identity()])"]
        if base is torch.nn.Sequential:
            return ["torch.nn.Sequential(torch.nn.Identity())"]
        if base.__module__.partition(".")[0] == "torch":
            return [*known, *(self.objects_of(base))]
        return [*known[:3], *self.objects_of(base)]

    def objects_of(self, cls: type) -> list[str]:
        """Expressions that make an object of a class, tried here where its arguments are guessed too."""
        text = name_of(cls)
        if text is None or self._depth >= MAX_DEPTH or inspect.isabstract(cls):
            return []
        from .synthesis import assembled

        found = [f"{text}()"] if not required(cls) else []
        repeats = [name for name in _small(cls) if not required(cls)]
        if repeats:
            found.insert(0, f"{text}({', '.join(f'{name}=2' for name in repeats)})")
        if not found:
            made = assembled(cls, self._context, self._depth + 1)
            found += [made] if made is not None else []
        return found

    # ---- from what is done with it

    def used(self) -> list[str]:
        """Guesses from what the class does with the argument."""
        usage, found = self._usage, []
        for one in usage.types:
            if not issubclass(one, (type(None), object)) or one in (int, float, str, bool, tuple, list):
                found += self.annotated(one)
        if usage.strings:
            found += self._strings()
        if usage.calls:
            found += self._types(torch.nn.Module)
        elif usage.called_in_forward and not usage.iterated:
            found += self._instances_of(torch.nn.Module)
        if usage.attributes:
            found += self._with_attributes()
        strings = [index for index in usage.indices if isinstance(index, str)]
        if strings:
            found += self._dictionaries()
        elif usage.iterated or usage.indices:
            found += self._sequences()
        if usage.is_number and not found:
            found += self._numbers()
        return found

    def _numbers(self) -> list[str]:
        if re.search(_FLOATS[0][0], self._name) or re.search(r"eps|momentum|temperature", self._name):
            return [by_name(_FLOATS, self._name, "0.5")]
        return self._ints()

    def _sequences(self) -> list[str]:
        if _MODULES_NAME.search(self._name):
            return ["[torch.nn.Identity(), torch.nn.Identity()]"]
        one = an_int(self._name)
        return [f"({', '.join([one] * length)},)" for length in self._lengths()]

    def _with_attributes(self) -> list[str]:
        attributes = self._usage.attributes
        if attributes & {"shape", "dtype", "device", "dim", "size", "ndim", "reshape", "view"}:
            return self._tensors(torch.Tensor)
        if _CONFIG_NAME.search(self._name):
            return [*self._configurations(), self.namespace()]
        if attributes <= {"__name__", "__class__", "__module__"}:
            return []
        known = self._context.known(torch.nn.Module, frozenset(attributes))
        if known or any(hasattr(torch.nn.Conv2d, one) for one in attributes):
            return [*known[:2], *_ANY_MODULE[1:], self.namespace()]
        return [*_ANY_MODULE[1:], self.namespace()]

    def _configurations(self) -> list[str]:
        """Classes of the file's scope that are called like a configuration and have what is asked of one."""
        scope = vars(sys.modules[self._cls.__module__])
        fitting: list[tuple[int, int, type]] = []
        for name, one in scope.items():
            if isinstance(one, type) and re.search(r"(Config|Cfg|Args|Params|Options|Settings)$", name):
                fields = {*dir(one), *required_and_optional(one)}
                fitting.append((-len(self._usage.attributes & fields), len(fitting), one))
        return [text for _, _, one in sorted(fitting)[:3] for text in self.objects_of(one)]

    def namespace(self) -> str:
        """An object that has just the attributes that are asked for."""
        fields = ", ".join(f"{name}={an_int(name)}" for name in sorted(self._usage.attributes) if name.isidentifier())
        return f"types.SimpleNamespace({fields})"

    def handed_on(self) -> list[str]:
        """Guesses for the parameters of other callables that the constructor hands the argument to."""
        found: list[str] = []
        if self._depth >= MAX_DEPTH:
            return found
        for callee, name in self._usage.passed[:3]:
            parameter = signature_of(callee).get(name)
            if parameter is None or callee in (self._cls, super, setattr, getattr, print, str, repr, isinstance):
                continue
            usage = usages(callee).get(name, Usage()) if isinstance(callee, type) else Usage()
            guess = _Guess(self._cls_of(callee), name, usage, self._context, self._depth + 1)
            hint = hints_of(callee).get(name)
            inner = guess.annotated(hint) if hint is not None else []
            inner = inner or guess.used() or guess.handed_on() or guess.named()
            found += [one for one in inner[:4] if one != "None"]
        return found

    def _cls_of(self, callee: Any) -> Any:
        return callee if isinstance(callee, type) and callee.__module__ in sys.modules else self._cls

    def named(self) -> list[str]:
        """Guesses from the name alone."""
        name = self._name
        if _CONFIG_NAME.search(name):
            return [*self._configurations(), self.namespace(), "{}"]
        if _MODULES_NAME.search(name):
            return ["[torch.nn.Identity(), torch.nn.Identity()]"]
        if _MODULE_NAME.search(name):
            return self._instances_of(torch.nn.Module)
        if re.search(r"^(use|with|is|has|do|enable|return|apply)_|bias$|inplace|flag|^causal|affine", name):
            return ["False", "True"]
        if re.search(_FLOATS[0][0], name) or re.search(r"eps|momentum|temperature|threshold|sigma|alpha|lambda", name):
            return [by_name(_FLOATS, name, "0.5")]
        if re.search(r"mode|type|name|method|version", name):
            return self._strings()
        if re.search(r"layers$|channels_list|dims$|depths|sizes|strides|channels$|planes$", name) and "in_" not in name:
            one = an_int(name)
            return [one, f"({one}, {one})", f"({one}, {one}, {one}, {one})"]
        if _TENSOR_NAME.search(name):
            return self._tensors(torch.Tensor)
        one = an_int(name)
        return [*self._ints()[:3], f"({one}, {one})", "torch.nn.Identity()", "0.5", "True"]

    def like(self, default: Any) -> list[str]:
        """Guesses of the type of a default, other than it."""
        if isinstance(default, bool):
            return [repr(not default)]
        if isinstance(default, str):
            return self._strings()
        return []


def _takes(cls: type, count: int, keywords: tuple[str, ...]) -> bool:
    try:
        inspect.signature(cls).bind(*[None] * count, **dict.fromkeys(keywords))
    except (TypeError, ValueError):
        return False
    return True


def signature_of(call: Any) -> Mapping[str, inspect.Parameter]:
    """Name -> parameter; nothing where there is no signature."""
    try:
        return inspect.signature(call).parameters
    except (TypeError, ValueError):
        return {}


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def required(call: Any) -> list[inspect.Parameter]:
    """The parameters that a call must give."""
    parameters = signature_of(call).values()
    return [one for one in parameters if one.default is one.empty and one.kind not in _VARIADIC]


def required_and_optional(call: Any) -> list[str]:
    if dataclasses.is_dataclass(call):
        return [field.name for field in dataclasses.fields(call)]
    return list(signature_of(call))


def _small(cls: type) -> list[str]:
    """The parameters of a configuration that say how often something is repeated, and can be 2 instead."""
    if issubclass(cls, torch.nn.Module):
        return []
    return [
        name
        for name, parameter in signature_of(cls).items()
        if SHALLOW.search(name) and type(parameter.default) is int and parameter.default > 2
    ]
