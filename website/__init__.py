"""How the site is made of docs/, examples/ and the code: ``python -m website``."""
