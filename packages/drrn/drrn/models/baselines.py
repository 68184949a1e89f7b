"""Baselines: the paper's linear, max-action and per-action DQN, LSTM-DQN and a look-up table."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from drrn.models.attention import q_by_pairs
from drrn.models.base import Model, Pages, pick
from drrn.models.encoders.base import Encoder, Weights
from textgames.arrays import Ids
from textgames.errors import InputError


class PerActionDQN(Model):
    """From the bags of a state and of one action to one Q-value."""

    def build(self) -> None:
        width = self.shape.hidden
        self.add_encoder("state", "states", width)
        self.add_encoder("action", "actions", width)
        self.pair_up("state", "action")
        _add_network(self, outputs=1)

    def reads(self, pages: Pages) -> dict[str, Ids]:
        return {"state": pages.states, "action": pages.flat_actions}

    def forward(self, pages: Pages) -> Tensor:
        replicas, batch, most = pages.actions.shape
        if self.reads_pairs:
            return q_by_pairs(self, pages, self.of_pairs)
        s = pick(*self.encode(pages, "state")).unsqueeze(2)  # [R, B, 1, H]
        a = pick(*self.encode(pages, "action")).view(replicas, batch, most, -1)
        return self.of_pairs(s, a)

    def of_pairs(self, states: Tensor, actions: Tensor) -> Tensor:
        """Q [R, B, A] of texts that were read in pairs."""
        x = states + actions
        return _outputs(self, self.layers("", x.flatten(1, 2))).view(x.shape[:3])


class MaxActionDQN(Model):
    """From the bags of a state and of all its actions, in menu order, to a Q-value of each."""

    sees_menu = True

    def build(self) -> None:
        self.add_encoders(self.shape.hidden)
        _add_network(self, self.shape.most_actions)

    def add_encoders(self, width: int) -> None:
        self.add_encoder("state", "states", width)
        for position in range(self.shape.most_actions):
            self.add_encoder(f"action {position}", "actions", width)

    def reads(self, pages: Pages) -> dict[str, Ids]:
        most = pages.actions.shape[-1]
        outputs = self.shape.most_actions
        if most > outputs:
            sizes = f"a page has {most} actions, but the model has {outputs} outputs"
            raise InputError(f"{sizes}; choose another model")
        actions = {f"action {position}": pages.actions[..., position] for position in range(most)}
        return {"state": pages.states} | actions

    def forward(self, pages: Pages) -> Tensor:
        most = pages.actions.shape[2]
        x = pick(*self.encode(pages, "state"))  # [R, B, H]
        for position in range(most):
            x = x + pick(*self.encode(pages, f"action {position}"))
        return self.outputs(x)[:, :, :most]

    def outputs(self, x: Tensor) -> Tensor:
        """From the first layer's product to a Q-value for each position: [R, B, H] → [R, B, O]."""
        return _outputs(self, self.layers("", x))


class Linear(MaxActionDQN):
    """The max-action model without a hidden layer: Q is linear in the counts of words.

    If an encoder is not linear itself, Q is linear in its output, by a further matrix.
    """

    def build(self) -> None:
        outputs = self.shape.most_actions
        if all(kind.linear for kind in self.encoder_classes):
            self.add_encoders(outputs)
            self.add_bias("b1", outputs)
        else:
            self.add_encoders(self.shape.hidden)
            self.add_weight("W out", self.shape.hidden, outputs)
            self.add_bias("b out", outputs)

    def outputs(self, x: Tensor) -> Tensor:
        return _outputs(self, x) if "W out" in self.weights else x + self.weights["b1"]


def _add_network(model: Model, outputs: int) -> None:
    """Add hidden layers after the first product, and the output layer."""
    model.add_layers("", model.shape.hidden)
    model.add_weight("W out", model.shape.hidden, outputs)
    model.add_bias("b out", outputs)


def _outputs(model: Model, h: Tensor) -> Tensor:
    """Apply the output layer: [R, N, H] → [R, N, O]."""
    return torch.baddbmm(model.weights["b out"], h, model.weights["W out"])


# --- LSTM-DQN


class VerbObjectDQN(Model):
    """The DQN of Narasimhan et al. (2015) for commands of two words.

    Q(s, a) = (w_verb · h + b_verb + w_object · h + b_object) / 2, h_l = relu(W_l h_{l-1} + b_l).

    With two layers and the encoder `bag` it is BOW-DQN, with `lstm` LSTM-DQN. An action's first
    word is its verb, the rest its object. An object of several words has the sum of their outputs.
    """

    def build(self) -> None:
        width = self.shape.hidden
        self.add_encoder("state", "states", width)
        self.add_layers("", width, first=self.encoders["state"].linear)
        self.encoders["verb"] = VerbHead(self, "verb", "actions", width + 1)
        self.encoders["object"] = ObjectHead(self, "object", "actions", width + 1)

    def reads(self, pages: Pages) -> dict[str, Ids]:
        actions = pages.flat_actions
        return {"state": pages.states, "verb": actions, "object": actions}

    def forward(self, pages: Pages) -> Tensor:
        states, state_index = self.encode(pages, "state")
        h = pick(self.layers("", states, torch.relu), state_index)  # [R, B, H]
        verbs, index = self.encode(pages, "verb")
        objects, _ = self.encode(pages, "object")  # of the same texts: the same index
        h = torch.cat([h, h.new_ones(*h.shape[:2], 1)], dim=2)
        return _products(h, (verbs + objects) / 2, index, pages.actions.shape[2])


class VerbHead(Encoder):
    """The outputs of one head: a row [H + 1] for an action's first word, the last is the bias."""

    def encode(self, model: Weights, words: Tensor, mask: Tensor) -> Tensor:
        return words[:, :, 0]


class ObjectHead(Encoder):
    """The outputs of the other head: the sum of the rows of an action's other words."""

    def encode(self, model: Weights, words: Tensor, mask: Tensor) -> Tensor:
        return words[:, :, 1:].sum(dim=2)


def _products(s: Tensor, a: Tensor, index: Tensor | None, most: int) -> Tensor:
    """Multiply s [R, B, H] by the distinct actions' vectors [R, U, H] at [R, B · A]: [R, B, A]."""
    replicas, batch, _ = s.shape
    if index is None or a.shape[1] > 4 * most:  # products of all pairs would cost more
        return torch.einsum("rbh,rbah->rba", s, pick(a, index).view(replicas, batch, most, -1))
    first = torch.arange(replicas, device=a.device).view(-1, 1, 1) * a.shape[1]
    return torch.bmm(s, a.transpose(1, 2)).gather(2, index.view(replicas, batch, most) - first)


# --- the control


class LookUpTable(Model):
    """A separate Q for each exact pair of texts, without any generalisation."""

    indexes_texts = True

    def build(self) -> None:
        self.weights["table"] = torch.zeros(len(self.seeds), 0, 0, device=self.device)

    def reads(self, pages: Pages) -> dict[str, Ids]:
        self._make_room()
        return {}

    def forward(self, pages: Pages) -> Tensor:
        table = self.weights["table"]
        replicas, batch, most = pages.actions.shape
        state_ids = pages.states[..., None]
        action_ids = pages.actions
        if pages.store and pages.store is not self.store:
            state_ids = np.append(pages.store.states.parent_ids, -1)[state_ids]
            action_ids = np.append(pages.store.actions.parent_ids, -1)[action_ids]
        states = torch.from_numpy(state_ids.clip(min=0)).to(self.device)
        actions = torch.from_numpy(action_ids.clip(min=0)).to(self.device)
        flat = (states * table.shape[2] + actions).reshape(replicas, batch * most)
        q = table.view(replicas, -1).gather(1, flat).view(replicas, batch, most)
        has_cell = torch.from_numpy((state_ids >= 0) & (action_ids >= 0)).to(self.device)
        return torch.where(has_cell, q, 0.0)

    def _make_room(self) -> None:
        old = self.weights["table"]
        states = len(self.store.states)
        actions = len(self.store.actions)
        if old.numel() and states <= old.shape[1] and actions <= old.shape[2]:
            return
        rows = max(states, 2 * old.shape[1], 1)
        columns = max(actions, 2 * old.shape[2], 1)
        if rows * columns * len(self.seeds) > 2**28:
            sizes = f"{states:,} states by {actions:,} actions"
            raise InputError(f"{sizes} are too many for a table; use another model")
        more = (0, columns - old.shape[2], 0, rows - old.shape[1])
        self.weights["table"] = functional.pad(old, more)
