//! Nothing: its dependencies are what it is for.
