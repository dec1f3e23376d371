"""What is read from files or written to them: layouts, large files, maps, public sets."""
