"""The Markov chain of a compiled game under a policy: expected visits and values.

Both solve linear equations x = first + A·x, as the series first + A·first + A²·first + … Most such
series converge quickly. Where loops are hardly ever left they do not; then the equations are solved
directly, one strongly connected component after another, in topological order.
"""

import numpy as np

from drrn.arrays import ranges
from drrn.compiled.game import Compiled, Flags, Floats, Ints, totals
from drrn.errors import InputError

PRECISION = 1e-12
QUICK_TERMS = 400  # after this many terms, the equations are solved instead
WINDOW = 16  # terms over which the rate of convergence is measured
MAX_SOLVED = 4_000  # states of a component that is solved directly
MAX_TERMS = 1_000_000
ILL_CONDITIONED = 1e9  # growth beyond which rounding errors matter
MAX_ELIMINATED = 2_000  # states of a component that is solved without subtraction


def uniform(graph: Compiled) -> Floats:
    """Return the probability of each slot under random play."""
    return (1.0 / np.maximum(graph.count, 1))[graph.slot_state]


def softmax_of_slots(graph: Compiled, q: Floats, scale: float = 1.0) -> Floats:
    """Return the probability of each slot, proportional to exp(scale · q)."""
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
        """Return the states from which the target can be reached."""
        return _closure(target, self.successor, self.origin)

    def reached(self) -> Flags:
        """Return the states that can be reached from the start."""
        return _closure(self.start > 0, self.origin, self.successor)

    def visits(self, steps: int | None = None) -> Floats:
        """Return the expected number of visits of each state.

        Without a number of steps, a state from which no ending can be reached counts only its first
        visit, since play never leaves such states.
        """
        continues = self.reached() & ~self.ended
        if steps is None:
            continues &= self.leads_to(self.ended)
        arrows = continues[self.origin]
        terms = MAX_TERMS if steps is None else steps
        chance = self.chance[arrows]
        return series(self.start, self.origin[arrows], self.successor[arrows], chance, terms)

    def value(
        self,
        pay: Floats,
        discount: float = 1.0,
        worth: Floats | None = None,
        terms: int = MAX_TERMS,
    ) -> Floats:
        """Return the expected sum of what arrivals pay, for each state.

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
        total = series(immediate, successor, origin, discount * chance, terms, backwards=True)
        return np.where(continues, total, worth)

    def _unpaid_forever(self, pay: Floats) -> Flags:
        """Return the states from which play continues for ever without paying."""
        states: Flags = ~self.ended
        while (leave := states[self.origin] & ~(states & (pay == 0))[self.successor]).any():
            states[self.origin[leave]] = False
        return states


def _closure(states: Flags, source: Ints, target: Ints) -> Flags:
    """Return the states that can be reached by arrows from source to target."""
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
    terms: int = MAX_TERMS,
    *,
    backwards: bool = False,
) -> Floats:
    """Return the sum of the series, where A maps weight · x[source] to target.

    Args:
        terms: Sum at most this many terms.
        backwards: Whether a step of the chain leads from target to source (values are carried
            back) instead of from source to target.
    """
    total, converged = _sum(first, source, target, weight, min(terms, QUICK_TERMS))
    if converged:
        return total
    if terms < MAX_TERMS:
        return _sum(first, source, target, weight, terms)[0]
    return solve_by_components(first, source, target, weight, backwards=backwards)


def _sum(
    first: Floats, source: Ints, target: Ints, weight: Floats, terms: int
) -> tuple[Floats, bool]:
    """Return the sum of the terms, and whether it has converged."""
    term = first
    earlier = float("inf")
    total: Floats = first.copy()
    for number in range(1, terms + 1):
        term = totals(target, weight * term[source], len(first))
        total += term
        if number % WINDOW == 0:
            largest = float(np.abs(term).max())
            if largest == 0:
                return total, True
            if largest < earlier:
                rest = WINDOW * largest / (1 - largest / earlier)
                if rest < PRECISION * np.abs(total).max():
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
    if len(first) > MAX_SOLVED:
        return _sum(first, source, target, weight, MAX_TERMS)[0]
    matrix = np.zeros((len(first), len(first)))
    np.add.at(matrix, (target, source), weight)
    try:
        solution = np.asarray(np.linalg.solve(np.eye(len(first)) - matrix, first), np.float64)
    except np.linalg.LinAlgError:  # never left, to floating-point precision
        solution = np.full(len(first), np.inf)
    grows = np.abs(solution).max() >= ILL_CONDITIONED * np.abs(first).max()
    if not grows or not leaving.any():
        return solution
    if len(first) > MAX_ELIMINATED:
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

    Eliminates states one by one, using only the probabilities of steps [from, to] and of leaving;
    nothing is ever subtracted (Grassmann, Taksar, Heyman 1985).
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
