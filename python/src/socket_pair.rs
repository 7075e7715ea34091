//! A pair of sockets, by which a thread of the engine wakes one that watches a descriptor.

use std::io::{self, Read as _, Write as _};

/// Both ends, which close together: a write never finds the other end closed.
pub(crate) struct SocketPair {
    writer: Stream,
    reader: Stream,
}

impl SocketPair {
    pub(crate) fn new() -> io::Result<Self> {
        let (writer, reader) = pair()?;
        writer.set_nonblocking(true)?;
        reader.set_nonblocking(true)?;
        Ok(Self { writer, reader })
    }

    pub(crate) fn wake(&self) {
        // A full socket wakes the reader already.
        let _ = (&self.writer).write(&[1]);
    }

    /// Reads all that was written.
    pub(crate) fn drain(&self) {
        let mut bytes = [0; 16];
        while matches!((&self.reader).read(&mut bytes), Ok(read) if read == bytes.len()) {}
    }

    /// The descriptor to watch, as Python knows it.
    pub(crate) fn descriptor(&self) -> i64 {
        descriptor(&self.reader)
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
    let writer = Stream::connect(listener.local_addr()?)?;
    loop {
        let (reader, from) = listener.accept()?;
        // Any process of this machine may have connected.
        if from == writer.local_addr()? {
            writer.set_nodelay(true)?;
            return Ok((writer, reader));
        }
    }
}

#[cfg(windows)]
fn descriptor(stream: &Stream) -> i64 {
    use std::os::windows::io::AsRawSocket as _;
    i64::try_from(stream.as_raw_socket()).unwrap_or(-1)
}
