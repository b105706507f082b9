"""Models on an engine: their schemas worked out, their tables wanted, their data built in graph order."""
