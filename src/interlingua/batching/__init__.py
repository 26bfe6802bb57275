"""Ids to padded tensors.

* ``encoding``: text to ids, in several processes; ``truncation``: what is too long
* ``shard_writer``: ids to the disk; ``shards``: mapped into memory again
* ``mixing``: how often the pairs of each file come in an epoch
* ``order``: which pairs make a batch, and which batch comes when
* ``batch``: padded tensors, the target shifted
"""
