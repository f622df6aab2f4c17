"""`python -m dsrs` is the command `dsrs`."""

from __future__ import annotations

import sys

from dsrs.cli.main import main

sys.exit(main())
