# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Renders the reference page of devices and instructions: `python -m axon_mlir.targets.reference > docs/isa.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence

from axon_mlir.targets.device import CallConstant, CallReference, CallRows, Device, Form, FunctionClass, Instruction
from axon_mlir.targets.loader import DEVICES, load_device


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield ""


def _agree(values: Sequence[str]) -> str:
    """One value where all devices agree, else all, in the order of the devices."""
    return values[0] if len(set(values)) == 1 else " / ".join(values)


def render(devices: Sequence[Device]) -> str:
    """The page, in Markdown."""
    lines = [
        "# Devices and instructions",
        "",
        "Generated from the descriptions in `axon_mlir/targets/`; do not edit.",
        "",
        "```",
        "python -m axon_mlir.targets.reference > docs/isa.md",
        "```",
        "",
        *_devices(devices),
        *_functions(devices),
    ]
    names = dict.fromkeys(n for d in devices for n in d.instructions)
    for name in names:
        lines += _instruction([d for d in devices if name in d.instructions], name, devices)
    text = "\n".join(lines)
    cites = {key: document for d in devices for key, document in d.sources.items()}
    for key, document in sorted(cites.items(), key=lambda item: -len(item[1])):
        text = text.replace(document, key)
    rows = ([key, document] for key, document in cites.items())
    return "\n".join([text, "## Sources", "", *_table(["key", "document"], rows)]).rstrip() + "\n"


def _devices(devices: Sequence[Device]) -> Iterator[str]:
    head = ["", *(d.name for d in devices)]
    yield "## Devices"
    yield ""
    yield "Sizes."
    yield ""
    limits = dict.fromkeys(n for d in devices for n in d.limit_details)
    details = {n: [d.limit_details.get(n) for d in devices] for n in limits}
    yield from _table(
        [*head, "unit", "source"],
        (
            [_code(n), *("" if x is None else str(x.value) for x in row), *_last(x for x in row if x is not None)]
            for n, row in details.items()
        ),
    )
    yield "Engines: clock in GHz; memory spaces read and written."
    yield ""
    engines = dict.fromkeys(n for d in devices for n in d.engines)
    rows: list[list[str]] = []
    for n in engines:
        row = [d.engines.get(n) for d in devices]
        one = next(e for e in row if e is not None)
        clocks = ["" if e is None or e.clock_ghz is None else f"{e.clock_ghz:g}" for e in row]
        rows.append([_code(n), *clocks, ", ".join(one.reads), ", ".join(one.writes)])
    yield from _table([*head, "reads", "writes"], rows)
    yield "First partition of a tile, for every engine but DMA."
    yield ""
    yield from _table(
        ["partitions", "may start at"],
        ([f"{s.low} to {s.high}", ", ".join(map(str, s.starts))] for s in devices[0].starts),
    )
    yield "Times and rates."
    yield ""
    constants = dict.fromkeys(n for d in devices for n in d.constants)
    known = {n: [d.constants.get(n) for d in devices] for n in constants}
    yield from _table(
        [*head, "unit", "source"],
        (
            [_code(n), *("" if x is None else f"{x.value:g}" for x in row), *_last(x for x in row if x is not None)]
            for n, row in known.items()
        ),
    )


def _last(known: Iterable[object]) -> tuple[str, str]:
    facts = list(known)
    units = _agree(list(dict.fromkeys(str(getattr(x, "unit", "")) for x in facts)))
    sources = dict.fromkeys(str(getattr(x, "source", "")) for x in facts)
    return units, "; ".join(dict.fromkeys(part for source in sources for part in source.split("; ")))


def _functions(devices: Sequence[Device]) -> Iterator[str]:
    classes: dict[str, list[tuple[Device, FunctionClass]]] = {}
    for device in devices:
        found: dict[str, FunctionClass] = {}
        for instruction in device.instructions.values():
            for form in instruction.forms:
                found.update({c.name: c for c in form.functions.values()})
        for name, one in found.items():
            classes.setdefault(name, []).append((device, one))
    yield "## Functions"
    yield ""
    yield "What an attribute of a form may stand for."
    yield ""
    for name, places in classes.items():
        yield f"### {name}"
        yield ""
        members = dict.fromkeys(m for _, c in places for m in c.members)
        rows: list[list[str]] = []
        for member in members:
            there = [(d, c) for d, c in places if member in c.members]
            valid = there[0][1].ranges.get(member)
            text = "" if valid is None else f"{valid.low:.6g} to {valid.high:.6g}"
            text += " in magnitude" if valid is not None and valid.magnitude else ""
            place = _where([d for d, _ in there], devices)
            rows.append([_code(member), _code(there[0][1].members[member]), text, place])
        yield from _table([places[0][1].kind, "in kernels", "valid input", "devices"], rows)


def _where(here: Sequence[Device], devices: Sequence[Device]) -> str:
    return "all" if len(here) == len(devices) else ", ".join(d.name for d in here)


def _instruction(here: Sequence[Device], name: str, devices: Sequence[Device]) -> Iterator[str]:
    versions = [d.instructions[name] for d in here]
    one = versions[-1]
    yield f"## {name}"
    yield ""
    yield one.summary
    yield ""
    parameters = ", ".join(p.name if p.default is None else f"{p.name}={p.default}" for p in one.signature)
    yield "```"
    yield f"{one.nki}({parameters})"
    yield "```"
    yield ""
    if len(here) < len(devices):
        yield f"Devices: {_where(here, devices)}."
        yield ""
    for remark in one.remarks:
        yield f"* {remark}"
    if one.remarks:
        yield ""
    forms = dict.fromkeys(f.name for v in versions for f in v.forms)
    rows: list[list[str]] = []
    for form_name in forms:
        places = [(d, d.instructions[name].form(form_name)) for d in here if _has(d.instructions[name], form_name)]
        form = places[-1][1]
        engines = _agree([", ".join(f.engines) for _, f in places])
        place = _where([d for d, _ in places], devices)
        rows.append([_code(form_name), _code(_meaning(form)), _code(_call(form)), engines, place])
    yield from _table(["form", "meaning", "arguments", "engines", "devices"], rows)
    yield from _operands(here, name, versions)
    yield from _rules(here, name, devices)
    yield f"Source: {'; '.join(one.sources)}."
    yield ""


def _has(instruction: Instruction, form: str) -> bool:
    return any(f.name == form for f in instruction.forms)


def _meaning(form: Form) -> str:
    """The form's text, with the class of each attribute instead of its kind."""
    text = form.text
    for attribute, one in form.functions.items():
        text = text.replace(f"{attribute}: {one.kind}", f"{attribute}: {one.name}", 1)
    for operand in form.operands:
        if operand.outs:
            text = text.replace(f"{operand.name}[", f"outs {operand.name}[", 1)
    return text


def _call(form: Form) -> str:
    values = {x.name: x.name for x in (*form.operands, *form.results)}
    parts: list[str] = []
    for keyword, arg in form.call:
        match arg:
            case CallConstant(text):
                parts.append(f"{keyword}={text}")
            case CallReference("operand" | "result", name):
                parts.append(f"{keyword}={values[name]}")
            case CallReference(_, name):
                parts.append(f"{keyword}={name}")
            case CallRows():
                parts.append(f"{keyword}={arg}")
            case _:
                parts.append(f"{keyword}=[...]")
    return ", ".join(parts)


def _operands(here: Sequence[Device], name: str, versions: Sequence[Instruction]) -> Iterator[str]:
    """One row per (name, spaces, dtypes), with the forms and devices it holds for."""
    seen: dict[tuple[str, str, str], dict[str, dict[str, None]]] = {}
    for device in here:
        for form in device.instructions[name].forms:
            for rule in (*form.operands, *form.results):
                key = (rule.name, ", ".join(rule.spaces) or "a number", ", ".join(rule.dtypes))
                seen.setdefault(key, {}).setdefault(form.name, {})[device.name] = None
    rows: list[list[str]] = []
    shared = {n for n in {k[0] for k in seen} if len([k for k in seen if k[0] == n]) == 1}
    for (operand, spaces, dtypes), forms in seen.items():
        places = dict.fromkeys(d for f in forms.values() for d in f)
        text = "" if operand in shared else f"{', '.join(forms)} on {', '.join(places)}" if len(forms) <= 3 else ""
        text = text or ("" if operand in shared else f"{len(forms)} forms on {', '.join(places)}")
        rows.append([_code(operand), spaces, dtypes, text])
    yield from _table(["operand or result", "lies in", "element types", "where they differ"], rows)


def _rules(here: Sequence[Device], name: str, devices: Sequence[Device]) -> Iterator[str]:
    demands: dict[tuple[str, str, str], dict[tuple[str, str], None]] = {}
    costs: dict[tuple[str, str, str, str], dict[tuple[str, str], None]] = {}
    for device in here:
        for form in device.instructions[name].forms:
            place = (form.name, device.name)
            for rule in form.rules:
                when = " and ".join(map(str, rule.when))
                demands.setdefault((str(rule), when, rule.source), {})[place] = None
            for cost in form.costs:
                when = " and ".join(map(str, cost.when))
                costs.setdefault((cost.engine, str(cost.cycles), when, cost.source), {})[place] = None
    count = len({f.name for d in here for f in d.instructions[name].forms})

    def scope(places: Iterable[tuple[str, str]]) -> tuple[str, str]:
        forms = dict.fromkeys(f for f, _ in places)
        names = {d for _, d in places}
        shown = "all" if len(forms) == count else f"{len(forms)} forms" if len(forms) > 3 else ", ".join(forms)
        return shown, _where([d for d in here if d.name in names], devices)

    if demands:
        yield from _table(
            ["demand", "when", "forms", "devices", "source"],
            ([text, when, *scope(p), source] for (text, when, source), p in demands.items()),
        )
    if costs:
        yield from _table(
            ["engine", "cycles (the first that applies)", "when", "forms", "devices", "source"],
            ([e, _code(c), when, *scope(p), source] for (e, c, when, source), p in costs.items()),
        )


def main() -> int:
    sys.stdout.write(render([load_device(name) for name in DEVICES]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
