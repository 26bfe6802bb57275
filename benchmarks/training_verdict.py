"""What ``training.py`` found: compared, judged by what must be met, and written as tables."""

import statistics
from typing import Any

from prove_commands import spread
from training_rows import LEAST_MFU, LEAST_SCALING, SMALL_GPU, Row

System = tuple[str, str]
"""A trainer and the kind of arithmetic that it is run with."""
OURS = "Interlingua"
Rounds = dict[System, list[dict[str, Any]]]
"""What each run of a system found; one that failed has a speed of nothing, and ``failed``."""


def near_best(rounds: Rounds, near: float) -> list[System]:
    """Return ours and the peers that came near the fastest one in the first round; only one of these can be the best."""
    first = {system: runs[0]["tokens_a_second"] for system, runs in rounds.items()}
    fastest = max((first[system] for system in first if system[0] != OURS), default=0.0)
    return [s for s in first if s[0] == OURS or 0 < first[s] >= near * fastest]


def summarise(
    row: Row,
    rounds: Rounds,
    products: list[dict[str, Any]],
    used: list[float],
    near: float,
) -> dict[str, Any]:
    """Compare ours with each peer, round by round, and say whether the row is met.

    Args:
        row: what was measured.
        rounds: what each run of each system found; those that are not :func:`near_best` ran once.
        products: what each round found for the matrix products alone.
        used: the share of the measured peak that ours used in each round, by default.
        near: what :func:`near_best` was asked for.
    """
    ours = (OURS, row.ours)
    speeds = {s: [one["tokens_a_second"] for one in rounds[s]] for s in rounds}
    alone = [one["tokens_a_second"] for one in products]
    rivals = [system for system in near_best(rounds, near) if system[0] != OURS]
    best = max(rivals, key=lambda system: _usual_speed(speeds[system]), default=None)
    of_best = speeds[best] if best else [0.0] * len(alone)
    found: dict[str, Any] = {
        "name": row.name,
        "ours": " ".join(ours),
        "must": row.must,
        "reach": row.reach,
        "ratio": spread(ratios_of(speeds[ours], of_best)),
        "best_peer": " ".join(best) if best else "none ran",
        "by_default": {
            "name": f"{OURS} {row.default}",
            "ratio": spread(ratios_of(speeds[OURS, row.default], of_best)),
        }
        if row.default
        else None,
        "share_of_peak": spread(used),
        "products_alone": {
            "tokens_a_second": spread(alone),
            "ratio": spread(ratios_of(alone, of_best)),
            "failed": _failure_of(products),
        },
        "systems": {
            " ".join(system): {
                "trainer": system[0],
                "tokens_a_second": spread(speeds[system]),
                "ratio": spread(ratios_of(speeds[ours][: len(runs)], speeds[system])),
                "runs": len(runs),
                "peak_bytes": max(one.get("peak_bytes", 0) for one in runs),
                "version": runs[0].get("version", runs[0].get("torch", "")),
                "failed": _failure_of(runs),
                "start_seconds": runs[0].get("start_seconds", 0.0),
                "warmup_seconds": runs[0].get("warmup_seconds", 0.0),
            }
            for system, runs in rounds.items()
        },
    }
    found["failures"] = failures_of(found["systems"], found["best_peer"])
    found["met"] = not found["failures"] and found["ratio"]["median"] >= row.must
    return found


def _usual_speed(speeds: list[float]) -> float:
    """Return the median of the runs that did not fail: a peer that fails now and then is none the slower for it."""
    return statistics.median([speed for speed in speeds if speed] or [0.0])


def _failure_of(runs: list[dict[str, Any]]) -> str | None:
    """Return why the first of the runs that failed did so."""
    return next((one["failed"] for one in runs if "failed" in one), None)


def failures_of(systems: dict[str, dict[str, Any]], best: str) -> list[str]:
    """Say what failed so that a row shows nothing: ours or the best peer in any round, or a peer in every kind of arithmetic.

    Args:
        systems: what each came to, ours among them, by the name of trainer and arithmetic.
        best: the name of the best peer, if one ran.
    """
    compared = [name for name in systems if systems[name]["trainer"] == OURS or name == best]
    failures = [
        f"{name} failed in a round: {systems[name]['failed']}"
        for name in compared
        if systems[name]["failed"]
    ]
    ways: dict[str, list[dict[str, Any]]] = {}
    for system in systems.values():
        if system["trainer"] != OURS:
            ways.setdefault(system["trainer"], []).append(system)
    for trainer, tried in ways.items():
        if not any(system["tokens_a_second"]["high"] for system in tried):
            failures.append(f"{trainer} failed in every arithmetic: {tried[-1]['failed']}")
    return failures


def all_met(rows: list[dict[str, Any]], others: list[dict[str, Any]], missing: list[str]) -> bool:
    """Tell whether everything is met that was to be measured; nothing is where nothing was, or where some is ``missing``."""
    verdicts = [bool(one["met"]) for one in (*rows, *others)]
    return bool(verdicts) and all(verdicts) and not missing


def requirements_of(row: Row, found: dict[str, Any], device: str) -> list[dict[str, Any]]:
    """Return what the row of the base model, and on a graphics card each, must show beside its ratio: use of the peak, and memory."""
    mfu = found["share_of_peak"]["median"]
    least = LEAST_MFU[row.size]
    needed = [
        {
            "name": f"{row.size}, {row.default or row.ours}, share of the measured peak (MFU)",
            "value": f"{mfu:.0%}",
            "must": f"{least:.0%}",
            "met": mfu >= least,
        }
    ]
    if device == "cuda":
        return (
            [*needed, _requirement_of_memory(found["small_gpu"])] if row.size == "base" else needed
        )
    mine = found["systems"][found["ours"]]["peak_bytes"]
    theirs = min(
        (
            system["peak_bytes"]
            for system in found["systems"].values()
            if system["trainer"] != OURS and system["peak_bytes"]
        ),
        default=0,
    )
    memory = {
        "name": "base, peak memory against the thriftiest peer",
        "value": f"{mine / 1e6:,.0f} MB, {theirs / 1e6:,.0f} MB ({mine / max(theirs, 1):.2f})",
        "must": "1.00",
        "met": 0 < mine <= theirs,
    }
    return [*needed, memory]


def _requirement_of_memory(held: dict[str, Any]) -> dict[str, Any]:
    """Return what a run must show that torch held to the memory of a small card."""
    value = f"{held.get('peak_bytes', 0) / 1e6:,.0f} MB, {held['tokens_a_second']:,.0f} tokens/s"
    return {
        "name": "base with 25,000 tokens an update, held to the memory of a small card",
        "value": f"failed: {held['failed']}" if "failed" in held else value,
        "must": f"{SMALL_GPU / 1e6:,.0f} MB",
        "met": "failed" not in held and 0 < held["peak_bytes"] <= SMALL_GPU,
    }


def requirement_of_processes(ratios: list[float], failures: list[str]) -> dict[str, Any]:
    """Return what two processes must show: so many times the speed of one, and that none failed."""
    found = spread(ratios)
    value = f"{found['median']:.2f} ({found['low']:.2f} to {found['high']:.2f})"
    return {
        "name": "base, two processes of one thread against one (torchrun, gloo)",
        "value": f"failed: {failures[-1]}" if failures else value,
        "must": f"{LEAST_SCALING}",
        "met": not failures and found["median"] >= LEAST_SCALING,
    }


def ratios_of(ours: list[float], theirs: list[float]) -> list[float]:
    """Return how many times the speed of the other each round saw; none where the other did not run."""
    pairs = zip(ours, theirs, strict=True)
    return [mine / other if other else 0.0 for mine, other in pairs]


def table_of(rows: list[dict[str, Any]], others: list[dict[str, Any]]) -> str:
    """Write the rows, and what else must be met, as Markdown."""
    parts = [
        *((_systems(rows), _ratios(rows)) if rows else ()),
        *([_others(others)] if others else ()),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts)


def _systems(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "| row | system | target tokens/s (median, range) | ours is so many times as fast | peak memory | start, warm-up |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        for name, system in row["systems"].items():
            if system["failed"]:
                lines.append(f"| {row['name']} | {name} | failed: {system['failed']} | | | |")
                continue
            speed = system["tokens_a_second"]
            times = "" if name == row["ours"] else _told(system["ratio"])
            lines.append(
                f"| {row['name']} | {name} {system['version']} | {speed['median']:,.0f} "
                f"({speed['low']:,.0f} to {speed['high']:,.0f}; {system['runs']} runs) | {times} | {system['peak_bytes'] / 1e6:,.0f} MB | "
                f"{system['start_seconds']:.0f} s, {system['warmup_seconds']:.0f} s |"
            )
    return lines


def _ratios(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "| row | ratio to the best peer | best peer | must | met | reach | share of the peak (MFU) | "
        "the products alone against the best peer |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        products = row["products_alone"]
        limit = 0 < products["ratio"]["median"] < row["must"]
        alone = _told(products["ratio"]) + (", below what must be: the limit" if limit else "")
        if products["failed"]:
            alone = f"failed: {products['failed']}"
        default = row["by_default"]
        share = f"{row['share_of_peak']['median']:.0%}"
        lines.append(
            f"| {row['name']}: {row['ours']} | {_told(row['ratio'])} | {row['best_peer']} | {row['must']} | {_yes(row['met'])} | "
            f"{row['reach']} | {'' if default else share} | {alone} |"
        )
        if default:
            is_met = _yes(default["ratio"]["median"] >= row["must"])
            lines.append(
                f"| {row['name']}, by default: {default['name']} | {_told(default['ratio'])} | {row['best_peer']} | {row['must']} | {is_met} | "
                f"{row['reach']} | {share} | |"
            )
    failures = [f"* {row['name']}: {failure}" for row in rows for failure in row["failures"]]
    return [*lines, "", "Not met, whatever the ratio:", "", *failures] if failures else lines


def _others(others: list[dict[str, Any]]) -> list[str]:
    return [
        "| what else must be met | measured | must | met |",
        "|---|---|---|---|",
        *(
            f"| {one['name']} | {one['value']} | {one['must']} | {_yes(one['met'])} |"
            for one in others
        ),
    ]


def _told(spread: dict[str, float]) -> str:
    return f"{spread['median']:.2f} ({spread['low']:.2f} to {spread['high']:.2f})"


def _yes(met: bool) -> str:
    return "yes" if met else "NO"
