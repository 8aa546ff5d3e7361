"""The command line: `cli` declares the commands; each other file implements one of them."""
