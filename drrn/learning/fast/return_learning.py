"""`ReturnLearning` with its updates made by `fitting` where they can be: DRRN's inner product, Adam, few texts."""

from __future__ import annotations

import torch

from drrn.learning.fast.fitting import Fitting, can_fit
from drrn.learning.learner import Generators
from drrn.learning.optimisers import Adam
from drrn.learning.return_learning import Fits, ReturnLearning
from drrn.learning.text_noise import noise_of
from drrn.models.drrn import DRRN


class FastReturnLearning(ReturnLearning):
    """The updates of `ReturnLearning`, to rounding; where they cannot be made faster, they are made as there.

    Noise in texts is drawn otherwise than there, for all texts at once."""

    def fit(self, fits: Fits, generators: Generators) -> None:
        if not (type(self.optimiser) is Adam and fits.weights.all() and can_fit(self.student)):
            return super().fit(fits, generators)
        assert isinstance(self.student, DRRN) and isinstance(self.optimiser, Adam)
        states = fits.pages.states
        actions = fits.pages.actions[..., 0]
        fitting = Fitting(self.student, self.optimiser, states, actions)
        if not fitting.adam.together:
            return super().fit(fits, generators)
        device = self.model.device
        updates = len(fits.targets)
        state_rows = fitting.state.rows(states)
        action_rows = fitting.action.rows(actions)
        targets = torch.from_numpy(fits.targets).to(device)
        states_noise, actions_noise = noise_of(self.settings)
        try:
            for k in range(updates):
                fitting.state.alter(states_noise, generators)
                fitting.action.alter(actions_noise, generators)
                fitting.step(state_rows[k], action_rows[k], targets[k])
                if self.average:
                    self.average.follow()
        finally:
            fitting.adam.settle()
