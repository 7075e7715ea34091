//! The rules of one limit.

use crate::algorithm::{Rule, Shape};
#[cfg(feature = "remote")]
use crate::fingerprint::Fingerprint;

/// The rules that one limit asks for: none, one, one with a block beside it, or the two of an exactly translated legacy
/// limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rules {
    Unlimited,
    One(Rule),
    Blocking(Rule, Rule),
    Both(Rule, Rule),
}

/// The kind of an entry among those of one limit and actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryKind {
    pub(crate) shape: Shape,
    /// The block beside the entry of this shape.
    pub(crate) is_block: bool,
}

impl EntryKind {
    /// The fingerprint of the entry with this number, by that of the limit's first one.
    #[cfg(feature = "remote")]
    pub(crate) fn beside(self, first: Fingerprint, number: usize) -> Fingerprint {
        match number {
            0 => first,
            _ if self.is_block => first.of_block(),
            _ => first.second(),
        }
    }

    /// Every kind: a second rule has no block.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let of = |is_block| Shape::ALL.into_iter().map(move |shape| Self { shape, is_block });
        of(false).chain(of(true).filter(|place| place.shape != Shape::Interval))
    }
}

impl Rules {
    pub(super) fn with_block(self, block: Option<Rule>) -> Self {
        match (self, block) {
            (Self::One(rule), Some(block)) => Self::Blocking(rule, block),
            (rules, _) => rules,
        }
    }

    /// The shape of the first rule's entry; a level where there is no rule.
    pub(crate) fn shape(&self) -> Shape {
        self.iter().next().map_or(Shape::Level, Rule::shape)
    }

    /// Each rule with the kind of its entry, and the block after the rule that it stands beside.
    pub(crate) fn placed(&self) -> impl Iterator<Item = (EntryKind, &Rule)> {
        let first = EntryKind { shape: self.shape(), is_block: false };
        let (second, rule) = match self {
            Self::Unlimited | Self::One(_) => (first, None),
            Self::Blocking(_, block) => (EntryKind { is_block: true, ..first }, Some(block)),
            Self::Both(_, rule) => (EntryKind { shape: Shape::Interval, is_block: false }, Some(rule)),
        };
        self.iter().next().map(|rule| (first, rule)).into_iter().chain(rule.map(|rule| (second, rule)))
    }

    /// The rules that limit, without the block.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Rule> {
        let (first, second) = match self {
            Self::Unlimited => (None, None),
            Self::One(rule) | Self::Blocking(rule, _) => (Some(rule), None),
            Self::Both(first, second) => (Some(first), Some(second)),
        };
        first.into_iter().chain(second)
    }
}
