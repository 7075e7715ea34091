//! The python binding.
