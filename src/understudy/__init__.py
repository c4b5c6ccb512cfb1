"""Understudy: differentially private synthetic tables."""
