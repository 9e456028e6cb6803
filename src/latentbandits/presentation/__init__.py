"""How results look, on a page, in a figure and in a terminal: one palette, one set of number formats, one progress line."""
