"""The settings of the documentation site, which ``docs/build.py`` builds."""

project = "fxlint"
author = "the fxlint developers"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "fxlint"
html_copy_source = False
html_show_sphinx = False
