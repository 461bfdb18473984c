"""The proving half's worker: runs in the user's interpreter, with the standard library and torch only.

Nothing here imports the rest of fxlint: ``worker.py`` is run as a script by an interpreter that has no fxlint.
"""
