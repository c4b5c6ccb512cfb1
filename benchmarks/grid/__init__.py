"""The paper's evaluation as a grid of cells: which cells there are, running them, keeping and showing what came out.

Compares with exact counts of public research tables under seeded noise, so nothing that it makes is private.
"""
