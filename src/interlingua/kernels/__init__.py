"""The same numbers, faster: each kernel stands beside a plain reference and is held to it by a parity test."""
