"""What the owner of a table looks at before anything private runs: a draft of its schema, and what does not fit one.

NOT PRIVATE: both read the table and tell what they saw, to its owner alone.
"""

from understudy.review.check import Misfit, check_schema
from understudy.review.draft import draft_schema

__all__ = ["Misfit", "check_schema", "draft_schema"]
