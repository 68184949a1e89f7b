"""The Markov chain of a compiled game under a policy: expected visits and values.

Both solve linear equations x = first + A·x, as the series first + A·first + A²·first + … Most such
series converge quickly. Where loops are hardly ever left, the equations are solved directly, one
strongly connected component after another, in topological order.
"""

from dataclasses import dataclass

import numpy as np

from textgames.arrays import ranges
from textgames.compiled.game import Compiled, Flags, Floats, Ints, totals
from textgames.errors import InputError


@dataclass(frozen=True)
class Budget:
    """When a series is cut, and which equations are solved in its place."""

    precision: float = 1e-12  # of the sum, relative to its largest number
    quick_terms: int = 400  # after which the equations are solved
    terms: int = 1_000_000  # of a series whose equations are too many
    solved: int = 4_000  # largest number of states of a component that is solved directly
    eliminated: int = 2_000  # the same without subtraction


BUDGET = Budget()


def uniform(graph: Compiled) -> Floats:
    """The probability of each slot under random play."""
    return (1.0 / np.maximum(graph.count, 1))[graph.slot_state]


def softmax_of_slots(graph: Compiled, q: Floats, scale: float = 1.0) -> Floats:
    """The probability of each slot, proportional to exp(scale · q)."""
    states = graph.slot_state
    largest = np.full(len(graph), -np.inf)
    np.maximum.at(largest, states, scale * q)
    weight = np.exp(scale * q - largest[states])
    probabilities: Floats = weight / totals(states, weight, len(graph))[states]
    return probabilities


class Chain:
    """Transitions between states with their probabilities, and the start distribution."""

    def __init__(self, graph: Compiled, probabilities: Floats) -> None:
        states = graph.slot_state
        rows = graph.row
        if graph.slot_groups is not None:
            group, states, rows = graph.slot_groups
            probabilities = totals(group, probabilities, len(states))
        possible = np.flatnonzero(probabilities > 0)
        rows = rows[possible]
        counts = np.diff(graph.row_first)[rows]
        outcomes = ranges(graph.row_first[rows], counts)
        slots = np.repeat(possible, counts)
        self.origin: Ints = states[slots]
        self.successor: Ints = graph.successor[outcomes]
        self.chance: Floats = probabilities[slots] * graph.probability[outcomes]
        self.start = graph.start
        self.ended = graph.ended

    def leads_to(self, target: Flags) -> Flags:
        """The states from which the target can be reached."""
        return _closure(target, self.successor, self.origin)

    def reached(self) -> Flags:
        """The states that can be reached from the start."""
        return _closure(self.start > 0, self.origin, self.successor)

    def visits(self, steps: int | None = None) -> Floats:
        """The expected number of visits of each state.

        Without a number of steps, a state from which no ending can be reached counts only its first
        visit, since play never leaves such states.
        """
        continues = self.reached() & ~self.ended
        if steps is None:
            continues &= self.leads_to(self.ended)
        arrows = continues[self.origin]
        arguments = (self.start, self.origin[arrows], self.successor[arrows], self.chance[arrows])
        return series(*arguments, steps)

    def value(
        self,
        pay: Floats,
        discount: float = 1.0,
        worth: Floats | None = None,
        terms: int | None = None,
    ) -> Floats:
        """The expected sum of what arrivals pay, for each state.

        Where `worth` is a number, play stops with that value. Undiscounted, the sum is infinite
        where play can continue for ever among states that pay.
        """
        worth = np.where(self.ended, 0.0, np.nan if worth is None else worth)
        if discount == 1.0:
            worth = np.where(np.isnan(worth) & self._unpaid_forever(pay), 0.0, worth)
            endless = ~self.leads_to(~np.isnan(worth))
            worth[endless] = np.copysign(np.inf, pay[endless].min(initial=0.0))
            for limit in (np.inf, -np.inf):
                worth[self.leads_to(worth == limit) & np.isnan(worth)] = limit
        continues = np.isnan(worth)
        steps = continues[self.origin]
        origin = self.origin[steps]
        successor = self.successor[steps]
        chance = self.chance[steps]
        immediate = chance * (pay + discount * np.where(continues, 0.0, worth))[successor]
        immediate = totals(origin, immediate, len(worth))
        arguments = (immediate, successor, origin, discount * chance, terms)
        total = series(*arguments, backwards=True)
        return np.where(continues, total, worth)

    def _unpaid_forever(self, pay: Floats) -> Flags:
        """The states from which play continues for ever without paying."""
        states: Flags = ~self.ended
        while (leave := states[self.origin] & ~(states & (pay == 0))[self.successor]).any():
            states[self.origin[leave]] = False
        return states


def _closure(states: Flags, source: Ints, target: Ints) -> Flags:
    """The states that can be reached by arrows from source to target."""
    states = states.copy()
    while not states[(more := target[states[source]])].all():
        states[more] = True
    return states


# --- linear equations


def series(
    first: Floats,
    source: Ints,
    target: Ints,
    weight: Floats,
    terms: int | None = None,
    *,
    backwards: bool = False,
) -> Floats:
    """The sum of the series, where A maps weight · x[source] to target.

    Args:
        first: The first term.
        source: Where each weight is taken from.
        target: Where it is added.
        weight: The entries of A.
        terms: The number of terms. None sums all of them.
        backwards: Whether a step of the chain leads from target to source (values are carried
            back) instead of from source to target.
    """
    quick = BUDGET.quick_terms if terms is None else min(terms, BUDGET.quick_terms)
    total, converged = _sum(first, source, target, weight, quick)
    if converged:
        return total
    if terms is not None and terms < BUDGET.terms:
        return _sum(first, source, target, weight, terms)[0]
    return solve_by_components(first, source, target, weight, backwards=backwards)


def _sum(
    first: Floats, source: Ints, target: Ints, weight: Floats, terms: int
) -> tuple[Floats, bool]:
    """The sum of the terms, and whether it has converged."""
    window = 16  # terms over which the rate of convergence is measured
    term = first
    earlier = float("inf")
    total: Floats = first.copy()
    for number in range(1, terms + 1):
        term = totals(target, weight * term[source], len(first))
        total += term
        if number % window == 0:
            largest = float(np.abs(term).max())
            if largest == 0:
                return total, True
            if largest < earlier:
                rest = window * largest / (1 - largest / earlier)
                if rest < BUDGET.precision * np.abs(total).max():
                    return total, True
            earlier = largest
    return total, False


def solve_by_components(
    first: Floats, source: Ints, target: Ints, weight: Floats, *, backwards: bool = False
) -> Floats:
    """Solve the equations, one strongly connected component after another."""
    component = strong_components(len(first), source, target)
    across = component[source] != component[target]
    origin = target if backwards else source
    # the probability that a step leaves the component
    leaving = totals(origin[across], weight[across], len(first))
    order = np.argsort(component[target], kind="stable")
    source = source[order]
    target = target[order]
    weight = weight[order]
    cuts = np.searchsorted(component[target], np.arange(int(component.max()) + 2))
    total: Floats = first.copy()
    for number in np.unique(component[target]):
        arrows = slice(cuts[number], cuts[number + 1])
        heads = target[arrows]
        tails = source[arrows]
        weights = weight[arrows]
        inside = component[tails] == number
        np.add.at(total, heads[~inside], weights[~inside] * total[tails[~inside]])
        if inside.any():
            members = np.unique(heads)
            local_target = np.searchsorted(members, heads[inside])
            local_source = np.searchsorted(members, tails[inside])
            matrix = local_source, local_target, weights[inside]
            total[members] = _solve_component(
                total[members], *matrix, leaving[members], backwards=backwards
            )
    return total


def _solve_component(
    first: Floats, source: Ints, target: Ints, weight: Floats, leaving: Floats, *, backwards: bool
) -> Floats:
    if len(first) > BUDGET.solved:
        return _sum(first, source, target, weight, BUDGET.terms)[0]
    matrix = np.zeros((len(first), len(first)))
    np.add.at(matrix, (target, source), weight)
    try:
        solution = np.asarray(np.linalg.solve(np.eye(len(first)) - matrix, first), np.float64)
    except np.linalg.LinAlgError:  # never left, to floating-point precision
        solution = np.full(len(first), np.inf)
    # beyond this growth, rounding errors matter
    grows = np.abs(solution).max() >= 1e9 * np.abs(first).max()
    if not grows or not leaving.any():
        return solution
    if len(first) > BUDGET.eliminated:
        raise InputError(
            f"play hardly ever leaves a loop of {len(first):,} states, so its exact score exceeds "
            "floating-point precision; sample it, or use a smaller α"
        )
    steps = matrix if backwards else matrix.T
    return solve_without_subtraction(first, steps, leaving, backwards=backwards)


def solve_without_subtraction(
    first: Floats, steps: Floats, leaving: Floats, *, backwards: bool
) -> Floats:
    """Solve the equations where 1 minus the probability of staying would round to 0.

    Eliminates states one by one, using only the probabilities of steps [from, to] and of leaving.
    Nothing is ever subtracted (Grassmann, Taksar, Heyman 1985).
    """
    steps = steps.copy()
    leaving = leaving.copy()
    first = first.copy()
    out = np.zeros(len(first))  # probability to step to an earlier state, or to leave
    for k in range(len(first) - 1, -1, -1):
        before = slice(0, k)
        out[k] = leaving[k] + steps[k, before].sum()
        share = steps[before, k] / out[k]
        reach = steps[k, before] / out[k]
        leaving[before] += share * leaving[k]
        first[before] += (share if backwards else reach) * first[k]
        steps[before, before] += np.outer(share, steps[k, before])
    solution = np.zeros(len(first))
    for k in range(len(first)):
        row = steps[k, :k] if backwards else steps[:k, k]
        solution[k] = (first[k] + row @ solution[:k]) / out[k]
    return solution


def strong_components(size: int, source: Ints, target: Ints) -> Ints:
    """Number the strongly connected components, sources before targets (Tarjan's algorithm)."""
    order = np.argsort(source, kind="stable")
    neighbours = target[order].tolist()
    cuts = np.searchsorted(source[order], np.arange(size + 1)).tolist()
    index = [-1] * size
    low = [0] * size
    component = [-1] * size
    stack: list[int] = []
    components = 0
    count = 0
    for root in range(size):
        path = [(root, cuts[root])] if index[root] < 0 else []
        while path:
            node, at = path.pop()
            if index[node] < 0:
                index[node] = low[node] = count
                count += 1
                stack.append(node)
            if at < cuts[node + 1]:
                path.append((node, at + 1))
                other = neighbours[at]
                if index[other] < 0:
                    path.append((other, cuts[other]))
                elif component[other] < 0:
                    low[node] = min(low[node], index[other])
                continue
            if low[node] == index[node]:
                while component[node] < 0:
                    component[stack.pop()] = components
                components += 1
            if path:
                parent = path[-1][0]
                low[parent] = min(low[parent], low[node])
    return components - 1 - np.array(component)
