"""Peers of the benchmarks: environments, one script each that runs one cell, and how to launch them."""
