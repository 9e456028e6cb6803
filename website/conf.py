"""Settings of sphinx."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
os.environ.setdefault("PYTHONHASHSEED", "0")

from latentbandits import __version__
from website.gallery import GALLERY
from website.hooks import setup as setup

QUICK = "SITE_QUICK" in os.environ

project = "latentbandits"
author = "the latentbandits developers"
release = version = __version__
html_title = f"latentbandits {__version__}"

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = [str(Path(__file__).parent / "templates")]  # autosummary looks for others beside the pages
exclude_patterns = ["examples/**", "gallery/*.ipynb", "**/sg_execution_times.rst", "sg_execution_times.rst"]
highlight_language = "none"
smartquotes = False  # two dashes are an option
default_role = "py:obj"  # a link where there is such an object, else code
suppress_warnings = ["config.cache"]

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]
nb_execution_mode = "off" if QUICK else "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autosummary_generate = True
autosummary_filename_map = {"latentbandits.trace": "latentbandits.trace_"}  # beside Trace, where case does not count
python_use_unqualified_type_names = True
maximum_signature_line_length = 80
numpydoc_show_class_members = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {**GALLERY, "plot_gallery": not QUICK}

html_theme = "pydata_sphinx_theme"
html_static_path = ["static"]
html_favicon = str(Path(__file__).parents[1] / "src" / "latentbandits" / "serve" / "page" / "files" / "icon.svg")
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options: dict[str, object] = {
    "logo": {"text": "latentbandits"},
    "header_links_before_dropdown": 6,
    "navbar_end": ["version", "theme-switcher"],
    "navbar_align": "left",
    "show_toc_level": 2,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": True,
}
html_context = {"default_mode": "auto"}
if "SITE_VERSIONS" in os.environ:  # `--versions`
    html_theme_options["navbar_end"] = ["version-switcher", "theme-switcher"]
    html_theme_options["switcher"] = {"json_url": os.environ["SITE_VERSIONS"], "version_match": version}
    html_theme_options["check_switcher"] = False  # it need not be there yet
    html_theme_options["show_version_warning_banner"] = True
