//! Changes of a TOML document.

use std::iter;

use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike};

use super::draft::{Draft, Subject, is_a_limit};
use crate::config::OVERRIDES;
use crate::config::error::Fault;
use crate::limit::Value;

/// Comments and blanks stay as they are.
pub(super) struct Toml(DocumentMut);

impl Toml {
    pub(super) fn read(text: &str) -> Result<Self, Fault> {
        let document: DocumentMut =
            text.parse().map_err(|error: toml_edit::TomlError| Fault::of_text(error.message()))?;
        let is_list = |item: &Item| item.is_array_of_tables() || item.is_array();
        if document.get(OVERRIDES).is_some_and(|item| !is_list(item)) { Err(is_a_limit()) } else { Ok(Self(document)) }
    }
}

impl Draft for Toml {
    fn remove(&mut self, subject: Subject<'_>) -> bool {
        let is_meant = |one: &dyn TableLike| {
            let mut fields = subject.iter();
            fields.all(|(name, text)| one.get(name).and_then(Item::as_str) == *text)
        };
        let (before, left) = match self.0.get_mut(OVERRIDES) {
            Some(Item::ArrayOfTables(tables)) => {
                let before = tables.len();
                tables.retain(|one| !is_meant(one));
                (before, tables.len())
            }
            Some(Item::Value(toml_edit::Value::Array(list))) => {
                let before = list.len();
                list.retain(|one| !one.as_inline_table().is_some_and(|one| is_meant(one)));
                (before, list.len())
            }
            _ => return false,
        };
        if left == 0 {
            self.0.remove(OVERRIDES);
        }
        left < before
    }

    fn put_first(&mut self, fields: Vec<(&'static str, Value)>) {
        let fields = fields.into_iter().filter_map(|(name, value)| Some((name, written(value)?)));
        if let Some(Item::Value(toml_edit::Value::Array(list))) = self.0.get_mut(OVERRIDES) {
            let mut first = toml_edit::Value::from(fields.collect::<InlineTable>());
            // On a line of its own where the others are. A comment stays with the one that it stood before.
            if let Some(next) = list.get_mut(0) {
                let before = next.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
                match before.rfind('\n') {
                    Some(line) => first.decor_mut().set_prefix(&before[line..]),
                    None => next.decor_mut().set_prefix(" "),
                }
            }
            list.insert_formatted(0, first);
            return;
        }
        let mut first = fields.collect::<Table>();
        let others = self.0.remove(OVERRIDES).and_then(|others| others.into_array_of_tables().ok()).unwrap_or_default();
        first.set_position(others.get(0).and_then(Table::position));
        let all = iter::once(first).chain(others);
        self.0.insert(OVERRIDES, Item::ArrayOfTables(all.collect::<ArrayOfTables>()));
    }

    fn write(self: Box<Self>) -> String {
        self.0.to_string()
    }
}

/// The value of a field; an override has no others.
fn written(value: Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Text(text) => text.into(),
        Value::Bool(value) => value.into(),
        #[expect(clippy::cast_possible_truncation, reason = "it is whole, and within what is exact")]
        Value::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => (number as i64).into(),
        Value::Number(number) => number.into(),
        _ => return None,
    })
}
