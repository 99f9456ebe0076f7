"""Measurements of speed and memory, beside other libraries."""
