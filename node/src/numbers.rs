//! Numbers that JavaScript wrote down.

/// A number that our own JavaScript wrote; anything else becomes the nearest integer that there is.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating is what is meant")]
pub(crate) fn whole(number: f64) -> u64 {
    number as u64
}

/// [`whole`], as an index or a handle, of which there are never as many as this.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as above")]
pub(crate) fn index(number: f64) -> usize {
    number as u32 as usize
}
