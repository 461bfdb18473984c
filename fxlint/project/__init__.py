"""The code under lint: reading files, and finding names across files and packages. Nothing here runs user code."""
