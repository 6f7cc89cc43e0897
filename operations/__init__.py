"""What people run a venue with: config, node, monitor, status, audit and the command line."""
