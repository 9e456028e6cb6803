"""Settings of the gallery: which scripts, and how their figures are found."""

from pathlib import Path
from typing import Any

from latentbandits.presentation.palette import plotting
from website.sources import ROOT


def figure(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:  # noqa: ARG001
    """Save what a script calls `figure`, once, and return how its page shows it."""
    import matplotlib.pyplot as plt
    from sphinx_gallery.scrapers import figure_rst

    found = variables["example_globals"].pop("figure", None)
    if found is None:
        return ""
    path = next(variables["image_path_iterator"])
    with plotting():
        found.savefig(path, dpi=140)
    plt.close("all")
    title = Path(variables["src_file"]).stem.removeprefix("plot_").replace("_", " ")
    return str(figure_rst([path], settings["src_dir"], title))


class Order:
    """From the first look to the special; a script that is not named here comes last."""

    names = (
        "main_figure",
        "mind",
        "airports",
        "routing",
        "pricing",
        "late_clicks",
        "outage",
        "when_not",
        "limit",
        "diagnosis",
        "service",
        "cluster",
    )

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, file: str) -> int:
        """Return the place of a script."""
        name = Path(file).stem.removeprefix("plot_")
        return self.names.index(name) if name in self.names else len(self.names)

    def __repr__(self) -> str:
        return "Order"


GALLERY: dict[str, Any] = {
    "examples_dirs": str(ROOT / "examples" / "gallery"),
    "gallery_dirs": "gallery",
    "image_scrapers": (figure,),
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_",),
    "copyfile_regex": "",
    "download_all_examples": False,
    "min_reported_time": 10_000,
    "parallel": 2,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "within_subsection_order": Order,
}
