"""Speed of the venue and of its peers, measured in one run: `python -m bench`."""
