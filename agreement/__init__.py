"""Verdicts in, estimates out: pure statistics on arrays, with numpy and scipy alone."""
