"""Every wire times every scenario times every server, run by the whole program and compared with what was expected.

``python -m tests.lab.matrix`` runs it; `tests/lab/matrix_expected.toml` is the table that it is compared with.
"""
