"""The online form of learning, the paper's Algorithm 1: after every step of a replica's game, one mini-batch."""

from __future__ import annotations

from drrn.errors import InputError
from drrn.learning.learner import Experience, Generators, Learner
from drrn.learning.reward_scale import RewardScale, in_units
from drrn.playing.policies import QPolicy
from drrn.playing.stepped_rollouts import Seat, SteppedRollouts
from drrn.playing.trajectory import Moments
from drrn.settings import Settings


def play_and_learn(
    rollouts: SteppedRollouts,
    learner: Learner,
    settings: Settings,
    policy: QPolicy,
    play: Generators,
    learn: Generators,
    scale: RewardScale | None = None,
) -> int:
    """A round: each replica plays its episodes one after the other; how many transitions were learned from. `scale`
    says in what units rewards are told."""
    if rollouts.lanes.most < settings.run.replicas:
        most = "one at a time" if rollouts.lanes.most == 1 else f"{rollouts.lanes.most} at a time"
        raise InputError(
            f"the online form plays a game of each replica at once, and of this game only {most} can be played: "
            "give it an another() that copies it, or learn with fewer replicas"
        )
    store = rollouts.model.store
    learned = 0
    left = [settings.run.episodes_per_round] * settings.run.replicas
    seats: list[Seat | None] = [None] * settings.run.replicas
    while True:
        for r, by in enumerate(play):
            while seats[r] is None and left[r]:
                seat = rollouts.begin([(r, int(by.integers(2**62)), r)], store)[0]
                seats[r] = None if seat.trajectory.ended else seat  # a first page may end the story
                left[r] -= seat.trajectory.ended
        under_way = [seat for seat in seats if seat is not None]
        if not under_way:
            return learned
        rollouts.step(under_way, rollouts.choices(under_way, policy, play, store), store)
        for seat in under_way:
            _tell(learner, seat, settings.learner.n_steps, scale)
            if seat.trajectory.over:
                seats[seat.replica] = None
                left[seat.replica] -= 1
        stepped = {seat.replica for seat in under_way}
        learned += learner.learn_once(learn, [r in stepped for r in range(settings.run.replicas)])


def _tell(learner: Learner, seat: Seat, n: int, scale: RewardScale | None) -> None:
    """What the last step completed: a transition needs the rewards of n steps, or the end."""
    trajectory = seat.trajectory
    steps = len(trajectory.taken)
    complete = range(max(steps - n, 0), steps if trajectory.over else max(steps - n + 1, 0))
    if complete:
        played: Experience = Moments([(trajectory, t) for t in complete])
        if scale:
            played = in_units(scale, seat.replica, played, [sum(trajectory.rewards)], [learner])
        learner.tell(seat.replica, played)
