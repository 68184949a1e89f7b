"""Linear equations x = first + A·x, as the series first + A·first + A²·first + …: what a chain adds up to.

Most such series are soon summed. Where loops are hardly ever left they are not; then the equations are solved directly,
one strongly connected component after the other, in the order in which they feed each other.
"""

from __future__ import annotations

import numpy as np

from drrn.compiled.graph import Floats, Ints, totals
from drrn.errors import InputError

PRECISION = 1e-12
PATIENCE = 400  # terms after which a series is called slow
WINDOW = 16  # terms over which to see how fast it shrinks
LARGEST = 4_000  # states of a component that is solved; a larger one is summed
MOST_TERMS = 1_000_000
HARD = 1e9  # times as much as went in, and rounding may be felt in what comes out: the chances of leaving count then
LARGEST_HARD = 2_000  # states of a component whose chances of leaving are followed one by one


def series(
    first: Floats,
    source: Ints,
    target: Ints,
    weight: Floats,
    terms: int = MOST_TERMS,
    *,
    backwards: bool = False,
) -> Floats:
    """The sum, where A takes weight · x[source] to target; at most so many terms of it. A step leads from source to
    target; where values are carried backwards, from target to source."""
    total, done = _summed(first, source, target, weight, min(terms, PATIENCE))
    if done:
        return total
    if terms < MOST_TERMS:
        return _summed(first, source, target, weight, terms)[0]
    return solved_by_components(first, source, target, weight, backwards=backwards)


def _summed(
    first: Floats, source: Ints, target: Ints, weight: Floats, terms: int
) -> tuple[Floats, bool]:
    """The sum of the terms, and whether the rest is too small to matter."""
    term = first
    earlier = float("inf")
    total: Floats = first.copy()
    for number in range(1, terms + 1):
        term = totals(target, weight * term[source], len(first))
        total += term
        if number % WINDOW == 0:
            now = float(np.abs(term).max())
            if now == 0 or (
                now < earlier
                and WINDOW * now / (1 - now / earlier) < PRECISION * np.abs(total).max()
            ):
                return total, True
            earlier = now
    return total, False


def solved_by_components(
    first: Floats, source: Ints, target: Ints, weight: Floats, *, backwards: bool = False
) -> Floats:
    """The sum, as the solution of the equations, one strongly connected component after the other."""
    component = strong_components(len(first), source, target)
    across = component[source] != component[target]
    origin = target if backwards else source
    leaving = totals(
        origin[across], weight[across], len(first)
    )  # the chance that a step leads out of the component
    order = np.argsort(component[target], kind="stable")
    source = source[order]
    target = target[order]
    weight = weight[order]
    cuts = np.searchsorted(component[target], np.arange(int(component.max()) + 2))
    total: Floats = first.copy()
    for number in np.unique(component[target]):
        arrows = slice(cuts[number], cuts[number + 1])
        into = target[arrows]
        out_of = source[arrows]
        by = weight[arrows]
        inside = component[out_of] == number
        np.add.at(total, into[~inside], by[~inside] * total[out_of[~inside]])
        if inside.any():
            members = np.unique(into)
            ends = np.searchsorted(members, into[inside]), np.searchsorted(members, out_of[inside])
            loops = ends[1], ends[0], by[inside]
            total[members] = _of_component(
                total[members], *loops, leaving[members], backwards=backwards
            )
    return total


def _of_component(
    first: Floats, source: Ints, target: Ints, weight: Floats, leaving: Floats, *, backwards: bool
) -> Floats:
    if len(first) > LARGEST:
        return _summed(first, source, target, weight, MOST_TERMS)[0]
    matrix = np.zeros((len(first), len(first)))
    np.add.at(matrix, (target, source), weight)
    try:
        found = np.asarray(np.linalg.solve(np.eye(len(first)) - matrix, first), np.float64)
    except np.linalg.LinAlgError:  # it is never left, to a number's precision
        found = np.full(len(first), np.inf)
    if np.abs(found).max() < HARD * np.abs(first).max() or not leaving.any():
        return found
    if len(first) > LARGEST_HARD:
        what = f"play hardly ever leaves a loop of {len(first):,} states"
        raise InputError(
            f"{what}, so its exact score is beyond a number's precision: sample it, or use a smaller α"
        )
    return without_rounding(first, matrix if backwards else matrix.T, leaving, backwards=backwards)


def without_rounding(first: Floats, steps: Floats, leaving: Floats, *, backwards: bool) -> Floats:
    """The same by the chances of steps [from, to] and of leaving alone, where 1 minus the chance of staying would be 0:
    states are taken out of the loop one by one, and nothing is ever subtracted (Grassmann, Taksar, Heyman 1985)."""
    steps, leaving, first, out = steps.copy(), leaving.copy(), first.copy(), np.zeros(len(first))
    for k in range(len(first) - 1, -1, -1):
        before = slice(0, k)
        out[k] = (
            leaving[k] + steps[k, before].sum()
        )  # the chance to go anywhere but to k and those taken out
        share = steps[before, k] / out[k]
        onward = steps[k, before] / out[k]
        leaving[before] += share * leaving[k]
        first[before] += (share if backwards else onward) * first[k]
        steps[before, before] += np.outer(share, steps[k, before])
    found = np.zeros(len(first))
    for k in range(len(first)):
        row = steps[k, :k] if backwards else steps[:k, k]
        found[k] = (first[k] + row @ found[:k]) / out[k]
    return found


def strong_components(size: int, source: Ints, target: Ints) -> Ints:
    """The number of each node's strongly connected component, sources before targets (Tarjan's algorithm)."""
    order = np.argsort(source, kind="stable")
    onward = target[order].tolist()
    cuts = np.searchsorted(source[order], np.arange(size + 1)).tolist()
    seen = [-1] * size
    low = [0] * size
    component = [-1] * size
    stack: list[int] = []
    found = count = 0
    for root in range(size):
        if seen[root] >= 0:
            continue
        seen[root] = low[root] = count
        count += 1
        stack.append(root)
        path = [(root, cuts[root])]
        while path:
            node, at = path.pop()
            if at < cuts[node + 1]:
                path.append((node, at + 1))
                other = onward[at]
                if seen[other] < 0:
                    seen[other] = low[other] = count
                    count += 1
                    stack.append(other)
                    path.append((other, cuts[other]))
                elif component[other] < 0:
                    low[node] = min(low[node], seen[other])
                continue
            if low[node] == seen[node]:
                while component[node] < 0:
                    component[stack.pop()] = found
                found += 1
            if path:
                low[path[-1][0]] = min(low[path[-1][0]], low[node])
    return found - 1 - np.array(component)
