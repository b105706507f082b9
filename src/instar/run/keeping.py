"""Whether a constant keeps its value in the type that it is for: no digit and no field is lost on the way."""

from __future__ import annotations

from instar.core.types import Array, Boolean, Map, String, Struct, Type, children, type_text
from instar.run.inferring import CannotInfer, Inferrer


def lost(text: str, type_: Type, inferrer: Inferrer) -> str | None:
    """What a constant would lose, in words; None where it keeps its value or nobody can tell."""
    try:
        own = inferrer.infer(f"SELECT ({text}) AS v")[0].type
    except CannotInfer:
        return None
    if field := _homeless(own, type_, by_place=inferrer.dialect == "spark"):
        return f"its field '{field}' is not the field of {type_text(type_)} in that place"
    if not _comparable(own, type_):
        return None
    there = _cast(text, type_, inferrer)
    back = _cast(there, own, inferrer)
    told = inferrer.values([f"({back}) IS NOT DISTINCT FROM ({text})"], Boolean(), ())
    if told != (("false",),):
        return None
    ((value,),) = inferrer.values([there], type_, ())
    return f"it would be {value}"


def _cast(text: str, type_: Type, inferrer: Inferrer) -> str:
    return inferrer.null(type_).replace("NULL", f"({text})", 1)


def _homeless(own: Type, type_: Type, *, by_place: bool) -> str | None:
    """A field that has no place of its name: Spark casts structs by place, DuckDB by name."""
    match own, type_:
        case (Struct(fields), Struct(wanted)):
            names = [f.name.casefold() for f in wanted]
            for place, field in enumerate(fields):
                name = field.name.casefold()
                if name not in names or (by_place and names.index(name) != place):
                    return field.name
                inner = wanted[names.index(name)].type
                if found := _homeless(field.type, inner, by_place=by_place):
                    return f"{field.name}.{found}"
        case (Array(), Array()) | (Map(), Map()):
            for one, other in zip(children(own), children(type_), strict=True):
                if found := _homeless(one.type, other.type, by_place=by_place):
                    return found
        case _:
            pass
    return None


def _comparable(own: Type, type_: Type) -> bool:
    """A text that becomes something else may be spelled in many ways: it need not come back as it was."""
    match own, type_:
        case (Struct(fields), Struct(wanted)):
            by_name = {f.name.casefold(): f.type for f in wanted}
            return all(_comparable(f.type, by_name[f.name.casefold()]) for f in fields)
        case (Array(), Array()) | (Map(), Map()):
            pairs = zip(children(own), children(type_), strict=True)
            return all(_comparable(one.type, other.type) for one, other in pairs)
        case (String(), _):
            return isinstance(type_, String)
        case _:
            return not children(own) and not children(type_)
