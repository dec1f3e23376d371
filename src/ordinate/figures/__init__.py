"""Maps as figures and as a report."""
