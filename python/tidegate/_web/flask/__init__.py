"""What ``tidegate.flask`` is made of."""
