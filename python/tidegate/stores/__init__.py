"""Stores for other rate limiters, a module for each library, imported only when asked for."""
