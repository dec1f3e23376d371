"""What everything else stands on: arrays, checks, devices, memory, threads, whole files."""
