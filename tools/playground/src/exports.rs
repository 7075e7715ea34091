//! The functions that a page sees. They pass text through one buffer in the memory that both sides share: the page
//! asks for [`room`], writes its request there, and calls [`answer`], whose result is as long as it says and stands at
//! the [`place`] of the buffer.

#![expect(unsafe_code, reason = "a name that is exported as it is could be that of another function")]
#![expect(unreachable_pub, reason = "exported to the page, not to another crate")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::calls;

static BUFFER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn buffer() -> MutexGuard<'static, Vec<u8>> {
    BUFFER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room for a request of so many bytes, and gives its place.
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> *const u8 {
    let mut buffer = buffer();
    buffer.clear();
    buffer.resize(length, 0);
    buffer.as_ptr()
}

/// Replaces the request with its reply, and gives the length of that.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    let mut buffer = buffer();
    *buffer = calls::answer(&buffer);
    buffer.len()
}

/// The place of the reply.
#[unsafe(no_mangle)]
pub extern "C" fn place() -> *const u8 {
    buffer().as_ptr()
}
