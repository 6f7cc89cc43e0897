"""Decoders: deterministic functions from one input partition to output records, and what runs them."""
