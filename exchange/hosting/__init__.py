"""How a role becomes a process: its config, its logs, its facts socket, its signals."""
