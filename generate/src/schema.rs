//! The JSON Schema of the wire form, drawn from the outlines of the types.

use std::borrow::Cow;
use std::error::Error;

use serde::Serialize;
use serde::ser::Serializer;
use tidegate::ffi::{self, Bounds, Field, FieldTakes as Takes, LONGEST_KEY, LONGEST_TEXT, MOST_OVERRIDES, Outline};

/// The schema of these types. Its `$defs` have a document of named limits under `limits`.
///
/// All that it refuses, the engine refuses too. What it lets pass is sound but for what only all numbers together show,
/// such as that a full entry drains within 100 years.
pub(crate) fn schema(types: &[Outline]) -> Result<String, Box<dyn Error>> {
    let references: Vec<_> = types.iter().map(|outline| reference(name_of(outline))).collect();
    let mut definitions = Vec::new();
    for outline in types {
        definitions.push((name_of(outline), object(outline)?));
    }
    definitions.push(("text", text_form()));
    definitions.push(("named", named_limit(&references)));
    definitions.push(("override", override_form(&references)));
    definitions.push(("limits", document()));
    let schema = Node::Object(vec![
        ("$schema", "https://json-schema.org/draft/2020-12/schema".into()),
        ("title", "Limit".into()),
        ("description", "What is limited, and how much. Durations are in milliseconds.".into()),
        ("type", "object".into()),
        ("required", Node::List(vec!["key".into()])),
        ("oneOf", Node::List(references)),
        ("$defs", Node::Object(definitions)),
    ]);
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}

/// JSON whose objects keep their order, whatever features of `serde_json` another crate may turn on.
#[derive(Clone)]
enum Node {
    Text(Cow<'static, str>),
    Number(f64),
    Bool(bool),
    List(Vec<Node>),
    Object(Vec<(&'static str, Node)>),
}

impl From<&'static str> for Node {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Node {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            #[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "of whole numbers")]
            Self::Number(number) if number.fract() == 0.0 => serializer.serialize_i64(*number as i64),
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::List(items) => serializer.collect_seq(items),
            Self::Object(members) => serializer.collect_map(members.iter().map(|(name, node)| (name, node))),
        }
    }
}

fn reference(name: &str) -> Node {
    Node::Object(vec![("$ref", format!("#/$defs/{name}").into())])
}

/// The name of a type among the definitions.
fn name_of(outline: &Outline) -> &'static str {
    outline.wire_name.unwrap_or("legacy")
}

/// The object that one type takes.
fn object(outline: &Outline) -> Result<Node, Box<dyn Error>> {
    let key = vec![
        ("type", "string".into()),
        ("minLength", Node::Number(1.0)),
        ("maxLength", Node::Number(LONGEST_KEY as f64)),
    ];
    let mut properties = vec![("key", described("Name of what is limited.", key))];
    let mut required = Vec::new();
    if let Some(name) = outline.wire_name {
        properties.push(("type", described("The type of the limit.", vec![("const", name.into())])));
        required.push("type".into());
    }
    for field in &outline.fields {
        properties.push((field.name, described(about(field), values(field)?)));
        if field.is_required {
            required.push(field.name.into());
        }
    }
    let mut object = vec![
        ("description", outline.about.into()),
        ("type", "object".into()),
        ("properties", Node::Object(properties)),
        ("required", Node::List(required)),
        ("additionalProperties", Node::Bool(false)),
    ];
    let together = |[one, other]: &[&'static str; 2]| {
        [(*one, Node::List(vec![(*other).into()])), (*other, Node::List(vec![(*one).into()]))]
    };
    if !outline.together.is_empty() {
        object.push(("dependentRequired", Node::Object(outline.together.iter().flat_map(together).collect())));
    }
    Ok(Node::Object(object))
}

fn about(field: &Field) -> Node {
    match field.takes {
        Takes::Number { is_duration: true, .. } => format!("{} In milliseconds.", field.about).into(),
        _ => field.about.into(),
    }
}

fn described(about: impl Into<Node>, mut values: Vec<(&'static str, Node)>) -> Node {
    values.insert(0, ("description", about.into()));
    Node::Object(values)
}

fn values(field: &Field) -> Result<Vec<(&'static str, Node)>, Box<dyn Error>> {
    Ok(match &field.takes {
        Takes::Number { bounds, default, .. } => {
            let mut values = vec![("type", "number".into())];
            match *bounds {
                Bounds::CountUpTo(most) => {
                    values.extend([("minimum", Node::Number(1.0)), ("maximum", Node::Number(most as f64))]);
                }
                Bounds::AtLeast(least) => values.push(("minimum", Node::Number(least))),
                Bounds::Above(bound) => values.push(("exclusiveMinimum", Node::Number(bound))),
                Bounds::WholeUpTo(most) => {
                    let (least, most) = (Node::Number(1.0), Node::Number(most.into()));
                    values = vec![("type", "integer".into()), ("minimum", least), ("maximum", most)];
                }
            }
            values.extend(default.map(|default| ("default", Node::Number(default))));
            values
        }
        Takes::Flag => vec![("type", "boolean".into()), ("default", Node::Bool(false))],
        Takes::Choice(names) => {
            let all = names.iter().map(|name| (*name).into()).collect();
            let default = names.first().filter(|_| !field.is_required).map(|name| ("default", Node::from(*name)));
            [("enum", Node::List(all))].into_iter().chain(default).collect()
        }
        Takes::Text(default) => vec![("type", "string".into()), ("default", (*default).into())],
        _ => return Err(format!("{} takes what no schema says", field.name).into()),
    })
}

/// The texts that [`Limit::parse`] reads.
fn text_form() -> Node {
    let about = "A limit as text: a count, `/` or `per`, a period; perhaps a type, `burst` and a count, or \
        `resolution` and a period.";
    Node::Object(vec![
        ("description", about.into()),
        ("type", "string".into()),
        ("maxLength", Node::Number(LONGEST_TEXT as f64)),
        ("pattern", ffi::text_pattern().into()),
        (
            "examples",
            Node::List(vec![
                "100/minute".into(),
                "10 per second".into(),
                "5/15m burst 20".into(),
                "1000/day fixed-window".into(),
            ]),
        ),
    ])
}

/// A limit under a name: text, or an object whose key is the name unless it says another.
fn named_limit(types: &[Node]) -> Node {
    let mut any = vec![reference("text")];
    any.extend_from_slice(types);
    Node::Object(vec![("oneOf", Node::List(any)), ("anyOf", something())])
}

/// A legacy limit without a field that limits is no limit, and in a document it is a mistake.
fn something() -> Node {
    let field = |name: &'static str| Node::Object(vec![("required", Node::List(vec![name.into()]))]);
    let limits = ["type", "max", "minInterval"].map(field).to_vec();
    let text = Node::Object(vec![("type", "string".into())]);
    Node::List([vec![text], limits].concat())
}

/// Limits by their names, at the top or in a table `limits` of their own, with overrides beside them.
fn document() -> Node {
    let own = Node::Object(vec![("type", "object".into()), ("additionalProperties", reference("named"))]);
    let overrides = Node::Object(vec![
        ("description", "Other allowances for single actors; the first that concerns an actor holds.".into()),
        ("type", "array".into()),
        ("items", reference("override")),
        ("maxItems", Node::Number(MOST_OVERRIDES as f64)),
    ]);
    let properties = Node::Object(vec![
        ("$schema", Node::Object(vec![("type", "string".into())])),
        ("limits", Node::Object(vec![("oneOf", Node::List(vec![reference("text"), own]))])),
        // A limit may be called so, too.
        ("overrides", Node::Object(vec![("oneOf", Node::List(vec![reference("named"), overrides]))])),
    ]);
    let has_own = Node::Object(vec![
        ("properties", Node::Object(vec![("limits", Node::Object(vec![("type", "object".into())]))])),
        ("required", Node::List(vec!["limits".into()])),
    ]);
    let names = Node::List(vec!["$schema".into(), "limits".into(), "overrides".into()]);
    let nothing_else = Node::Object(vec![
        ("propertyNames", Node::Object(vec![("enum", names)])),
        ("properties", Node::Object(vec![("overrides", Node::Object(vec![("type", "array".into())]))])),
    ]);
    let about = "Limits by their names, at the top of a document or in a table `limits` of their own; beside them \
        overrides for single actors.";
    Node::Object(vec![
        ("description", about.into()),
        ("type", "object".into()),
        ("properties", properties),
        ("additionalProperties", reference("named")),
        ("if", has_own),
        ("then", nothing_else),
    ])
}

/// An entry of the overrides.
fn override_form(types: &[Node]) -> Node {
    let required = |names: &[&'static str]| {
        Node::Object(vec![("required", Node::List(names.iter().map(|name| (*name).into()).collect()))])
    };
    let text = |about: &'static str| described(about, vec![("type", "string".into())]);
    let mut any = vec![reference("text")];
    any.extend_from_slice(types);
    let unkeyed = Node::Object(vec![("key", Node::Bool(false))]);
    let definition = described(
        "The definition in place of the limit, with its key.",
        vec![("oneOf", Node::List(any)), ("anyOf", something()), ("properties", unkeyed)],
    );
    let about = "The factor of the actor: 0.5 = twice the allowance, 2 = half, 0 = no limit.";
    let factor = described(about, vec![("type", "number".into()), ("minimum", Node::Number(0.0))]);
    let pattern = vec![("type", "string".into()), ("pattern", "\\*".into())];
    let properties = vec![
        ("actor", text("The actor.")),
        ("pattern", described("A pattern of actors: each `*` stands for any characters, or none.", pattern)),
        ("limit", text("The name of the limit; all limits unless given.")),
        ("factor", factor),
        ("definition", definition),
        ("unlimited", described("No limit for the actor.", vec![("const", Node::Bool(true))])),
    ];
    let one_of = |each: Vec<Node>| Node::Object(vec![("oneOf", Node::List(each))]);
    Node::Object(vec![
        ("description", "Another allowance for an actor, or for a pattern of actors.".into()),
        ("type", "object".into()),
        ("properties", Node::Object(properties)),
        ("additionalProperties", Node::Bool(false)),
        (
            "allOf",
            Node::List(vec![
                one_of(vec![required(&["actor"]), required(&["pattern"])]),
                one_of(vec![required(&["factor"]), required(&["definition"]), required(&["unlimited"])]),
            ]),
        ),
        ("dependentRequired", Node::Object(vec![("definition", Node::List(vec!["limit".into()]))])),
    ])
}
