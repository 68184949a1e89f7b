"""The paper's baselines: linear, max-action DQN, per-action DQN; and a look-up table as a control."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from drrn.errors import InputError
from drrn.models.base import Model, Pages, Reading, picked
from drrn.models.encoders.base import Leaves
from drrn.models.pairs import Paired, paired_q
from drrn.text import Ids, Lexicon


class PerActionDQN(Model):
    """The bags of a state and of one action go in, one Q-value comes out."""

    def build(self) -> None:
        width = self.shape.hidden
        self.add_encoder("state", "states", width)
        self.add_encoder("action", "actions", width)
        self.pair_up("state", "action")
        add_layers(self, width, outputs=1)

    def reads(self, pages: Pages) -> dict[str, Ids]:
        return {"state": pages.states, "action": pages.flat_actions}

    def forward(self, reading: Reading, leaves: Leaves | None) -> Tensor:
        replicas, batch, most = reading.pages.actions.shape
        if self.reads_pairs:
            return paired_q(self, reading, leaves, self.of_pairs)
        states, at_state = self.encode(reading, "state", leaves)
        actions, at_action = self.encode(reading, "action", leaves)
        s = picked(states, at_state).unsqueeze(2)  # [R, B, 1, H]
        a = picked(actions, at_action).view(replicas, batch, most, -1)
        return layers(self, (s + a).reshape(replicas, batch * most, -1)).view(replicas, batch, most)

    def of_pairs(self, pair: Paired) -> Tensor:
        """Q of texts that were read one beside the other."""
        return layers(self, (pair.states + pair.actions).flatten(1, 2)).view(pair.states.shape[:3])


class MaxActionDQN(Model):
    """The bags of a state and of all its actions, in their shown order, go in; a Q-value for each place comes out."""

    sees_menu = True

    def build(self) -> None:
        self.add_encoders(self.shape.hidden)
        add_layers(self, self.shape.hidden, outputs=self.shape.most_actions)

    def add_encoders(self, width: int) -> None:
        self.add_encoder("state", "states", width)
        for place in range(self.shape.most_actions):
            self.add_encoder(f"action {place}", "actions", width)

    def reads(self, pages: Pages) -> dict[str, Ids]:
        most = pages.actions.shape[-1]
        if most > self.shape.most_actions:
            raise InputError(
                f"a page shows {most} actions, but the model has {self.shape.most_actions} outputs: set most_actions"
            )
        return {"state": pages.states} | {
            f"action {place}": pages.actions[..., place] for place in range(most)
        }

    def forward(self, reading: Reading, leaves: Leaves | None) -> Tensor:
        most = reading.pages.actions.shape[2]
        x = picked(*self.encode(reading, "state", leaves))  # [R, B, H]
        for place in range(most):
            x = x + picked(*self.encode(reading, f"action {place}", leaves))
        return layers(self, x)[:, :, :most]


class Linear(MaxActionDQN):
    """The max-action model without a hidden layer: Q is linear in the counts of words; or in what an encoder gives that
    is not linear itself, by a matrix after it."""

    def build(self) -> None:
        outputs = self.shape.most_actions
        kinds = (self.shape.encoder, self.shape.action_encoder or self.shape.encoder)
        if all(kind.linear for kind in kinds):
            self.add_encoders(outputs)
            self.add_bias("b1", outputs)
        else:
            self.add_encoders(self.shape.hidden)
            self.add_weight("W out", self.shape.hidden, outputs)
            self.add_bias("b out", outputs)


class LookUpTable(Model):
    """A separate Q for each exact pair of texts, without any generalisation: a control, not a baseline."""

    indexes_texts = True

    def build(self) -> None:
        self.weights["table"] = torch.zeros(len(self.seeds), 0, 0, device=self.device)

    def reads(self, pages: Pages) -> dict[str, Ids]:
        self._make_room()
        return {}

    def forward(self, reading: Reading, leaves: Leaves | None) -> Tensor:
        self._make_room()  # of a frozen copy, which is given what another has read
        table = self.weights["table"]
        pages = reading.pages
        replicas, batch, most = pages.actions.shape
        at_state = pages.states[..., None]
        at_action = pages.actions
        if reading.store is not self.store:
            at_state = _own_ids(reading.store.states, at_state)
            at_action = _own_ids(reading.store.actions, at_action)
        states = torch.from_numpy(at_state.clip(min=0)).to(self.device)
        actions = torch.from_numpy(at_action.clip(min=0)).to(self.device)
        flat = (states * table.shape[2] + actions).reshape(replicas, batch * most)
        q = table.view(replicas, -1).gather(1, flat).view(replicas, batch, most)
        known = torch.from_numpy((at_state >= 0) & (at_action >= 0)).to(self.device)
        return torch.where(known, q, 0.0)

    def _make_room(self) -> None:
        old = self.weights["table"]
        states = len(self.store.states)
        actions = len(self.store.actions)
        if old.numel() and states <= old.shape[1] and actions <= old.shape[2]:
            return
        rows, columns = (
            max(need, 2 * have, 1)
            for need, have in zip((states, actions), old.shape[1:], strict=True)
        )
        if rows * columns * len(self.seeds) > 2**28:
            raise InputError(
                f"a table of {states:,} states by {actions:,} actions is too large: use another model"
            )
        table = torch.zeros(len(self.seeds), rows, columns, device=self.device)
        table[:, : old.shape[1], : old.shape[2]] = old
        self.weights["table"] = table


def _own_ids(texts: Lexicon, ids: Ids) -> Ids:
    """From ids of a scratch store to those of the store it was made from; -1 for a text that this does not have."""
    found: Ids = np.append(texts.parent_ids, -1)[ids]
    return found


def add_layers(model: Model, width: int, outputs: int) -> None:
    """Hidden layers after the first product, and the output layer."""
    model.add_bias("b1", width)
    for layer in range(2, model.shape.layers + 1):
        model.add_weight(f"W{layer}", width, width)
        model.add_bias(f"b{layer}", width)
    model.add_weight("W out", width, outputs)
    model.add_bias("b out", outputs)


def layers(model: Model, x: Tensor) -> Tensor:
    """From the first layer's product to the outputs: [R, N, H] → [R, N, O]; without hidden layers, linear."""
    w = model.weights
    if "W out" not in w:
        return x + w["b1"]
    if "b1" not in w:
        return torch.baddbmm(w["b out"], x, w["W out"])
    h = torch.tanh(x + w["b1"])
    for layer in range(2, model.shape.layers + 1):
        h = torch.tanh(torch.baddbmm(w[f"b{layer}"], h, w[f"W{layer}"]))
    return torch.baddbmm(w["b out"], h, w["W out"])
