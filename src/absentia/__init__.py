"""absentia: differential privacy for data with holes."""
