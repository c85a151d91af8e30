"""The paper's experiments on public data: what they are, how they run and resume,
their tables and figures.
"""
