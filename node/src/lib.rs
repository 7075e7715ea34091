//! The node binding.
