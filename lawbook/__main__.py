"""`python -m lawbook`."""

import sys

from lawbook.cli import main

sys.exit(main())
