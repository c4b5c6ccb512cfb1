"""The audit: which promise is held by which tests, whether they pass, and whether they would catch us lying.

``make audit`` runs all of it. With ``PYTHONPATH=tests``, ``python -m audit mutants`` runs the mutants alone, and
``python -m audit page`` writes docs/auditors.md.
"""
