"""The environment `drrn-arena` of verifiers, which finds environments by the name of a module.

vf-eval drrn-arena --env.taskset.game night-market
"""

from drrn.arena.adaptors.verifiers import SolvedEnv, SolvedTaskset, load_environment

__all__ = ["SolvedEnv", "SolvedTaskset", "load_environment"]
