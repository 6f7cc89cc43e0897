"""The rules of one symbol partition: order book, matcher, and the partitioner towards participants."""
