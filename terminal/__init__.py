"""The command line: each command parses its arguments, calls one room and prints."""
