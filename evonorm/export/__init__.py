"""A layer elsewhere. `source.py` writes it as a torch module that needs no evonorm."""

from evonorm.export.source import layer_source as layer_source
