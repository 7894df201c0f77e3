"""Lawbook: learn an unknown world by writing its rules down, proving them on the record, and planning in them."""

__version__ = "0.1.0"
