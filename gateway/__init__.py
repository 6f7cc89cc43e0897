"""The gateway: FIX sessions in front of the exchange's streams."""
