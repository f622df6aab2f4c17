"""Files at the doors of the package: written whole or not at all, read with the place of errors."""
