"""The capability matrix: probed on the real engines, published, and held fresh."""
