"""The command line: parse, call the use cases, render."""
