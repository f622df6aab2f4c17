"""From probability intervals to the largest provable radius: shells, dual bound, search, proof."""
