//! The rules of one limit.

use crate::algorithm::{Rule, Shape};

/// The rules that one limit asks for: none, one, or the two of an exactly translated legacy limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rules {
    Unlimited,
    One(Rule),
    Both(Rule, Rule),
}

impl Rules {
    /// The shape of the first rule's entry; a level where there is no rule.
    pub(crate) fn shape(&self) -> Shape {
        self.iter().next().map_or(Shape::Level, Rule::shape)
    }

    /// Each rule with the shape of its entry.
    pub(crate) fn shaped(&self) -> impl Iterator<Item = (Shape, &Rule)> {
        [self.shape(), Shape::Interval].into_iter().zip(self.iter())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Rule> {
        let (first, second) = match self {
            Self::Unlimited => (None, None),
            Self::One(rule) => (Some(rule), None),
            Self::Both(first, second) => (Some(first), Some(second)),
        };
        first.into_iter().chain(second)
    }
}
