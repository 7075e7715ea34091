"""What ``tidegate.django`` and ``tidegate.drf`` are made of."""
