//! A file as words that processes share, and what the kernel knows of these processes.
//!
//! Beside `boot_clock.rs` the only file of the engine with `unsafe` code: it makes words of a mapping, and asks the kernel
//! what the standard library does not.

#![allow(unsafe_code, reason = "a shared mapping, and calls of the kernel that have no safe wrapper")]

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicU64;
use std::{io, mem, ptr, slice};

/// Words in memory that lasts as long as this.
#[derive(Debug)]
pub(super) struct Mapping {
    start: ptr::NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: it is no more than a place and a length of memory that stays where it is, and that is changed by atomic
// operations alone.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first words of a file, which has to have them: a file that is cut off later ends the process that
    /// touches what is gone.
    pub(super) fn of(file: &File, words: usize) -> io::Result<Self> {
        Self::map(words, libc::MAP_SHARED, file.as_raw_fd())
    }

    /// A page that is all zeros again in a forked child.
    pub(super) fn of_this_process() -> io::Result<Self> {
        let page = Self::map(512, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        // SAFETY: the page was mapped just now, is this long, and nobody else knows of it.
        checked(unsafe { libc::madvise(page.start.as_ptr().cast(), 512 * 8, libc::MADV_WIPEONFORK) })?;
        Ok(page)
    }

    fn map(words: usize, flags: libc::c_int, file: libc::c_int) -> io::Result<Self> {
        let bytes = words.checked_mul(mem::size_of::<AtomicU64>()).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: the kernel chooses the place, so no memory that is in use is replaced.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, file, 0) };
        match ptr::NonNull::new(start.cast::<AtomicU64>()) {
            Some(first) if start != libc::MAP_FAILED => Ok(Self { start: first, words }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    #[inline]
    pub(super) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the memory is mapped for as long as `self` lives, begins at a page, and every bit pattern is a word.
        // Other processes change it by atomic operations of the same size alone.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it is this mapping, whole, and nothing borrows from it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.words * mem::size_of::<AtomicU64>()) };
    }
}

/// The user of this process.
pub(super) fn user() -> u32 {
    // SAFETY: it only answers.
    unsafe { libc::geteuid() }
}

/// Makes sure of memory for a part of a file, so that no process that touches it is ended for want of some.
pub(super) fn reserve(file: &File, from: usize, bytes: usize) -> io::Result<()> {
    let (from, bytes) = (offset(from)?, offset(bytes)?);
    // SAFETY: it is given numbers alone.
    checked(unsafe { libc::fallocate(file.as_raw_fd(), 0, from, bytes) })
}

/// Claims a byte of a file for this process, until its end; false if another process has it. The kernel gives it up with
/// the process, or when the process closes any handle of the file.
pub(super) fn claim(file: &File, at: usize) -> io::Result<bool> {
    let byte = byte(at, libc::F_WRLCK)?;
    // SAFETY: it reads the structure that it is given.
    match checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &raw const byte) }) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        claimed => claimed.map(|()| true),
    }
}

/// True if another process has claimed this byte, and is alive.
pub(super) fn is_claimed(file: &File, at: usize) -> io::Result<bool> {
    let mut byte = byte(at, libc::F_WRLCK)?;
    // SAFETY: it reads and writes the structure that it is given.
    checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &raw mut byte) })?;
    Ok(i32::from(byte.l_type) != libc::F_UNLCK)
}

fn byte(at: usize, kind: libc::c_int) -> io::Result<libc::flock> {
    // SAFETY: a structure of numbers, for which zeros are values.
    let mut lock: libc::flock = unsafe { mem::zeroed() };
    lock.l_type = libc::c_short::try_from(kind).map_err(io::Error::other)?;
    lock.l_whence = libc::c_short::try_from(libc::SEEK_SET).map_err(io::Error::other)?;
    (lock.l_start, lock.l_len) = (offset(at)?, 1);
    Ok(lock)
}

fn offset(bytes: usize) -> io::Result<libc::off_t> {
    libc::off_t::try_from(bytes).map_err(io::Error::other)
}

fn checked(answer: libc::c_int) -> io::Result<()> {
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
