"""Sequenced streams: partitions, appenders, the log, and the clients that publish and read. Knows nothing of orders."""
