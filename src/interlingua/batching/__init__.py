"""Ids to padded tensors: memory-mapped shards, truncation, the order of an epoch, batches."""
