"""Plain functions from passes to maps, which read like the paper."""
