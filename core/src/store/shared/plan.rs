//! The layout of a table: a header, then for each of its parts the entries of single actors, then for each what takes
//! memory once it is used: the shared entries, and the blocks of long ones.

/// Words of the header.
pub(super) mod header {
    use crate::fingerprint::Keys;

    pub(crate) const MAGIC: usize = 0;
    pub(crate) const VERSION: usize = 1;
    pub(crate) const ARCHITECTURE: usize = 2;
    pub(crate) const WORDS: usize = 3;
    pub(crate) const ENTRIES: usize = 4;
    /// The hash of a text under the table's keys: other for a process that hashes in another way.
    pub(crate) const CANARY: usize = 5;
    /// The wall time at which the host's clock showed 0.
    pub(crate) const EPOCH: usize = 7;
    /// The identity of the host's start.
    pub(crate) const BOOT: usize = 8;
    /// Set when all of the above is.
    pub(crate) const READY: usize = 10;
    /// The places of processes that were ever used.
    pub(crate) const PLACES: usize = 11;
    /// The keys of the fingerprints, which are the table's only secret.
    pub(crate) const KEYS: usize = 16;
    /// The words that whoever makes the table writes.
    pub(crate) const WRITTEN: usize = KEYS + size_of::<Keys>() / 8;
    /// For each place of a process how many have had it.
    pub(crate) const PROCESSES: usize = 512;
}

/// The most processes at a time.
pub(super) const MOST_PROCESSES: usize = 1536;
const HEADER: usize = header::PROCESSES + MOST_PROCESSES;

/// Of a part: the words behind its lock.
pub(super) mod part {
    use crate::store::memory::CELLS;
    use crate::store::shared::lock;

    pub(crate) const LEN: usize = lock::WORDS;
    pub(crate) const LANES: usize = LEN + 1;
    /// The first block that is free, and the number of blocks that have ever been used and that have memory.
    pub(crate) const FREE: usize = LEN + 2;
    pub(crate) const FRESH: usize = LEN + 3;
    pub(crate) const BACKED: usize = LEN + 4;
    /// The place at which sweeping goes on, of the entries and of the lanes, and the instant of the last.
    pub(crate) const HAND: usize = LEN + 5;
    pub(crate) const LANE_HAND: usize = LEN + 6;
    pub(crate) const SWEPT_AT: usize = LEN + 7;
    /// The instant of the last call with a caller's clock, by our clock.
    pub(crate) const GIVEN_AT: usize = LEN + 8;
    pub(crate) const GIVEN_UNTIL: usize = LEN + 9;
    /// 1 while actors share entries.
    pub(crate) const SHARED: usize = LEN + 10;
    pub(crate) const EVICTIONS: usize = LEN + 11;
    pub(crate) const OVERFLOWED: usize = LEN + 12;
    /// 1 once the lanes have memory.
    pub(crate) const LANES_BACKED: usize = LEN + 13;
    pub(crate) const CELL: usize = LEN + 16;
    pub(crate) const SLOTS: usize = CELL + 2 * CELLS;
}

/// Slots of a bucket, and the words of it: a tag for each slot, then the rest of each.
pub(super) const SLOTS: usize = 8;
pub(super) const REST: usize = 5;
pub(super) const BUCKET: usize = SLOTS * (1 + REST);
/// Words of a block: the number of the next one, and numbers of an entry.
pub(super) const BLOCK: usize = 8;
/// The words of a page.
const PAGE: usize = 512;

const MOST_SHARDS: usize = 64;
const ENTRIES_PER_SHARD: usize = 4096;
/// One in so many entries is for those who find no place of their own.
const SHARED: usize = 8;
/// Of 25 slots at most 19 are taken. In a table that is as full as it gets, two in 100,000 entries then find no slot.
const MOST_TAKEN: (usize, usize) = (19, 25);
const FEWEST_BUCKETS: usize = 16;
const FEWEST_BLOCKS: usize = 8192;

/// The sizes of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) entries: usize,
    pub(super) shards: usize,
    /// The most entries of single actors in a part, and the most shared ones.
    pub(super) own: usize,
    pub(super) lanes: usize,
    pub(super) buckets: usize,
    pub(super) lane_buckets: usize,
    /// The most blocks of a part.
    pub(super) blocks: usize,
    /// The words of a part that have memory from the start, on cache lines of its own.
    pub(super) part_words: usize,
    /// The words of a part's lanes.
    pub(super) lane_words: usize,
    /// The words that have memory from the start.
    pub(super) backed_words: usize,
}

impl Plan {
    /// Of at most this many entries, at least one.
    pub(super) fn of(entries: usize) -> Self {
        let entries = entries.max(1);
        let shards = (entries / ENTRIES_PER_SHARD).clamp(1, MOST_SHARDS).next_power_of_two();
        let shared = (entries / SHARED).max(1).min(entries - 1);
        let (own, lanes) = ((entries - shared).div_ceil(shards), shared / shards);
        let buckets = |entries: usize| (entries * MOST_TAKEN.1).div_ceil(MOST_TAKEN.0 * SLOTS).max(FEWEST_BUCKETS);
        let (buckets, lane_buckets) = (buckets(own), buckets(lanes));
        // They take memory once they are used, so there may be many of them.
        let blocks = (4 * buckets * BUCKET / BLOCK).max(FEWEST_BLOCKS).next_multiple_of(PAGE / BLOCK);
        let part_words = (part::SLOTS + buckets * BUCKET).next_multiple_of(16);
        let lane_words = (lane_buckets * BUCKET).next_multiple_of(PAGE);
        let backed_words = (HEADER + shards * part_words).next_multiple_of(PAGE);
        Self { entries, shards, own, lanes, buckets, lane_buckets, blocks, part_words, lane_words, backed_words }
    }

    #[inline]
    pub(super) fn part_at(&self, shard: usize) -> usize {
        HEADER + shard * self.part_words
    }

    /// The words of a part's lanes and blocks.
    #[inline]
    pub(super) fn later_words(&self) -> usize {
        self.lane_words + self.blocks * BLOCK
    }

    #[inline]
    pub(super) fn later_at(&self, shard: usize) -> usize {
        self.backed_words + shard * self.later_words()
    }

    pub(super) fn words(&self) -> usize {
        self.later_at(self.shards)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entries_of_a_million_actors_take_less_than_64_bytes_each() {
        let plan = Plan::of(1_150_000);
        assert_eq!(plan.shards, 64);
        let (own, bytes) = (plan.own * plan.shards, plan.backed_words * 8);
        assert!(own >= 1_000_000 && plan.lanes * plan.shards >= own / 8, "{plan:?}");
        assert!(bytes < 64 * own, "{bytes}");
    }

    #[test]
    fn a_small_table_has_one_part() {
        assert_eq!((Plan::of(1).own, Plan::of(1).lanes), (1, 0));
        assert_eq!((Plan::of(10).shards, Plan::of(10).own, Plan::of(10).lanes), (1, 9, 1));
    }
}
