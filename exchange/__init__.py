"""The exchange: records, streams, decoders and the symbol partition's rules. Knows nothing of FIX."""
