"""The command line: `cli` declares the commands, and each other file carries out one of them."""
