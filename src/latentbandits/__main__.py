"""``python -m latentbandits`` is the command ``latentbandits``."""

import sys

from latentbandits.cli import main

sys.exit(main())
