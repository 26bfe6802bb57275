"""Whole files and folders of text, translated part by part, here or on a Ray cluster.

* ``parts``: what a file is cut into, what is done of it, and how it becomes one file again
* ``worker``: what translates a part, on this machine or another
* ``ray_data``: many of them
"""
