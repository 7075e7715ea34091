//! `SipHash` with 128 bits, which every process of a host computes alike, whatever it was compiled with.

/// A secret of 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HashKey(pub(super) u64, pub(super) u64);

impl HashKey {
    /// `SipHash-1-3`, of which no attack on a hash table is known.
    #[inline]
    pub(super) fn hash(self, text: &[u8]) -> u128 {
        self.siphash::<1, 3>(text)
    }

    #[inline]
    fn siphash<const ROUNDS: usize, const FINAL: usize>(self, text: &[u8]) -> u128 {
        let Self(k0, k1) = self;
        let mut v = [
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d ^ 0xee,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ];
        let (words, rest) = text.as_chunks::<8>();
        for word in words {
            absorb::<ROUNDS>(&mut v, u64::from_le_bytes(*word));
        }
        // The length modulo 256 is above the rest.
        absorb::<ROUNDS>(&mut v, (text.len() as u64) << 56 | rest_of(text, rest));
        v[2] ^= 0xee;
        rounds::<FINAL>(&mut v);
        let low = v[0] ^ v[1] ^ v[2] ^ v[3];
        v[1] ^= 0xdd;
        rounds::<FINAL>(&mut v);
        u128::from(v[0] ^ v[1] ^ v[2] ^ v[3]) << 64 | u128::from(low)
    }
}

/// The bytes behind the last whole word. Behind one, it is read again with them: eight bytes at once take less time than
/// up to seven one by one.
#[inline]
fn rest_of(text: &[u8], rest: &[u8]) -> u64 {
    match text.last_chunk::<8>() {
        Some(last) if !rest.is_empty() => u64::from_le_bytes(*last) >> (64 - 8 * rest.len()),
        _ => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

#[inline]
fn absorb<const ROUNDS: usize>(v: &mut [u64; 4], word: u64) {
    v[3] ^= word;
    rounds::<ROUNDS>(v);
    v[0] ^= word;
}

#[inline]
fn rounds<const COUNT: usize>(v: &mut [u64; 4]) {
    for _ in 0..COUNT {
        v[0] = v[0].wrapping_add(v[1]);
        v[2] = v[2].wrapping_add(v[3]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].rotate_left(32);
        v[2] = v[2].wrapping_add(v[1]);
        v[0] = v[0].wrapping_add(v[3]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].rotate_left(32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first of the published vectors of `SipHash-2-4-128`.
    #[test]
    fn hashes_as_published() {
        let key = HashKey(0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        let hash = |text: &[u8]| key.siphash::<2, 4>(text).to_le_bytes();
        let [nothing, one] = [hash(&[]), hash(&[0])];
        assert_eq!(nothing[..8], [0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6]);
        assert_eq!(nothing[8..], [0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93]);
        assert_eq!(one[..8], [0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44]);
    }

    #[test]
    fn reads_the_rest_of_every_length() {
        let text: Vec<u8> = (1..=40).collect();
        for length in 0..=text.len() {
            let text = &text[..length];
            let (_, rest) = text.as_chunks::<8>();
            let mut bytes = [0; 8];
            bytes[..rest.len()].copy_from_slice(rest);
            assert_eq!(rest_of(text, rest), u64::from_le_bytes(bytes), "{length}");
        }
    }
}
