//! The end of a thread at any of its steps, as if its process was killed.

use std::cell::Cell;
use std::panic;

thread_local! {
    /// The steps that are left until this thread ends as if it was killed.
    pub(super) static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    pub(super) static IS_DEAD: Cell<bool> = const { Cell::new(false) };
}

/// A step: any look at a word, or change of one.
pub(super) fn step() {
    match LEFT.get() {
        u64::MAX => {}
        0 => {
            LEFT.set(u64::MAX);
            IS_DEAD.set(true);
            panic::resume_unwind(Box::new("killed"));
        }
        left => LEFT.set(left - 1),
    }
}

/// True in a thread that was killed, which releases nothing.
pub(super) fn is_dead() -> bool {
    IS_DEAD.get()
}
