"""The pure part: values and rules. No I/O, no clock, no third-party import."""
