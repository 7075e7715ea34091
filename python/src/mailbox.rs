//! What threads of the engine leave for a thread of Python's.
//!
//! Whoever leaves something never takes the interpreter's lock: where there was nothing, it wakes the other side, in
//! the end through a socket that an event loop or a thread watches.

use std::io::{self, Read as _, Write as _};
use std::sync::{Mutex, PoisonError};

/// Things that were left, in order.
pub(crate) struct Mailbox<T> {
    left: Mutex<Vec<T>>,
    bell: Bell,
}

/// How the other side is woken.
pub(crate) enum Bell {
    /// By a byte through a socket.
    Socket(Line),
    /// By a note for the process's own thread, of this number.
    Note(u64),
}

/// Both ends of a socket, which close together: so whoever rings never finds the other end gone.
pub(crate) struct Line {
    ring: Stream,
    hear: Stream,
}

impl<T> Mailbox<T> {
    pub(crate) fn new(bell: Bell) -> Self {
        Self { left: Mutex::default(), bell }
    }

    pub(crate) fn put(&self, thing: T) {
        self.put_among(usize::MAX, thing);
    }

    /// Drops it where so many wait already.
    pub(crate) fn put_among(&self, most: usize, thing: T) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if left.len() >= most {
            return;
        }
        let is_first = left.is_empty();
        left.push(thing);
        drop(left);
        if is_first {
            self.bell.ring();
        }
    }

    /// Forgets that it rang, for whoever does not read the socket in another way. Before taking what was left.
    pub(crate) fn hush(&self) {
        if let Bell::Socket(line) = &self.bell {
            line.hush();
        }
    }

    /// Everything that was left; what comes from now on rings again.
    pub(crate) fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.left.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Bell {
    fn ring(&self) {
        match self {
            Self::Socket(line) => line.ring(),
            Self::Note(number) => crate::notes::wake(*number),
        }
    }
}

impl Line {
    pub(crate) fn new() -> io::Result<Self> {
        let (ring, hear) = pair()?;
        ring.set_nonblocking(true)?;
        hear.set_nonblocking(true)?;
        Ok(Self { ring, hear })
    }

    fn ring(&self) {
        // If it is full of bytes, then it has rung.
        let _ = (&self.ring).write(&[1]);
    }

    /// Forgets that it rang.
    fn hush(&self) {
        let mut bytes = [0; 16];
        while matches!((&self.hear).read(&mut bytes), Ok(read) if read == bytes.len()) {}
    }

    /// The descriptor to watch, as Python knows it.
    pub(crate) fn descriptor(&self) -> i64 {
        descriptor(&self.hear)
    }
}

#[cfg(unix)]
use std::os::unix::net::UnixStream as Stream;

#[cfg(unix)]
fn pair() -> io::Result<(Stream, Stream)> {
    Stream::pair()
}

#[cfg(unix)]
fn descriptor(stream: &Stream) -> i64 {
    use std::os::fd::AsRawFd as _;
    i64::from(stream.as_raw_fd())
}

#[cfg(windows)]
use std::net::TcpStream as Stream;

#[cfg(windows)]
fn pair() -> io::Result<(Stream, Stream)> {
    let listener = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))?;
    let ring = Stream::connect(listener.local_addr()?)?;
    loop {
        let (hear, from) = listener.accept()?;
        // Anybody on this machine may have connected.
        if from == ring.local_addr()? {
            ring.set_nodelay(true)?;
            return Ok((ring, hear));
        }
    }
}

#[cfg(windows)]
fn descriptor(stream: &Stream) -> i64 {
    use std::os::windows::io::AsRawSocket as _;
    i64::try_from(stream.as_raw_socket()).unwrap_or(-1)
}
