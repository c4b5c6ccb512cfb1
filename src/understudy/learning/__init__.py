"""Schemas learnt under a budget: kinds, bounds, bins and texts by questions at the door. Sees no counts: it holds a door."""

from understudy.learning.learn import learn_schema, learnt_schema

__all__ = ["learn_schema", "learnt_schema"]
