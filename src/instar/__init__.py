"""Instar: schema evolution for data pipelines that run on Spark."""

__version__ = "0.1.0"
