"""What a text asks for besides being translated, checked before anything is computed.

* ``request``: the options of one call, and the frozen record that they become
"""
