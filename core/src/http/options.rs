//! The options of a gate by their names, as the bindings and configuration files pass them.

use super::accept::Form;
use super::builder::GateBuilder;
use super::gate::{Body, Gate};
use super::mistakes::Mistake;
use super::proxies::TrustedProxies;
use crate::error::LimitError;
use crate::headers::{Draft, Reset, Style};
use crate::limit::Value;
use crate::near::hint;

/// The names of all options of [`Gate::from_fields`].
pub const GATE_OPTIONS: [&str; 10] = [
    "trustedProxies",
    "forwardedHeader",
    "ipv6Prefix",
    "headers",
    "draft",
    "reset",
    "status",
    "body",
    "silence",
    "scope",
];

#[derive(Default)]
struct Given {
    networks: Vec<String>,
    proxies: Option<TrustedProxies>,
    style: Option<Style>,
    draft: Draft,
    reset: Reset,
}

impl Gate {
    /// A gate with options by their names, of which [`GATE_OPTIONS`] lists all. One that is null is as if it were not
    /// given. A list (of networks, or of mistakes to be silenced) is passed as one field for each of its items.
    ///
    /// ```
    /// use tidegate::limits::Value;
    /// use tidegate::http::Gate;
    ///
    /// let network = |text: &str| ("trustedProxies".to_owned(), Value::Text(text.to_owned()));
    /// let gate = Gate::from_fields([network("10.0.0.0/8"), ("ipv6Prefix".to_owned(), Value::Number(56.0)), network("::1")])?;
    /// assert_eq!(gate.client(Some("2001:db8:1:2::3"), &[""; 0])?.actor, "ip:2001:db8:1::/56");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When an option does not exist, or a value has the wrong type or is out of bounds.
    pub fn from_fields(fields: impl IntoIterator<Item = (String, Value)>) -> Result<Self, LimitError> {
        let (mut gate, mut given) = (Self::builder(), Given::default());
        for (name, value) in fields {
            if !GATE_OPTIONS.contains(&name.as_str()) {
                let problem = format!("is not an option here{}", hint(&name, GATE_OPTIONS));
                return Err(LimitError::wrong_type("", &crate::error::excerpt(&name), problem, "a value"));
            }
            if value != Value::Null {
                gate = given.take(gate, &name, value)?;
            }
        }
        if !given.networks.is_empty() {
            if given.proxies.is_some() {
                return Err(LimitError::wrong_type("", "trustedProxies", "must be given once", "two values"));
            }
            given.proxies = Some(TrustedProxies::networks(&given.networks)?);
        }
        let style = given.style.unwrap_or(Self::new().style);
        gate = gate.style(style.draft(given.draft).reset(given.reset));
        match given.proxies {
            Some(proxies) => gate.trusted_proxies(proxies).build(),
            None => gate.build(),
        }
    }
}

impl Given {
    fn take(&mut self, gate: GateBuilder, name: &str, value: Value) -> Result<GateBuilder, LimitError> {
        match name {
            "trustedProxies" => self.proxy(value)?,
            "forwardedHeader" => return Ok(gate.forwarded_header(&text(name, value)?)),
            "ipv6Prefix" => return Ok(gate.ipv6_prefix(ipv6_prefix(&value)?)),
            "headers" => self.style = Some(style(name, value)?),
            "draft" => self.draft = draft(value)?,
            "reset" => self.reset = reset(value)?,
            "status" => {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within its bounds")]
                return Ok(gate.status(count(name, &value, 400.0, 599.0)? as u16));
            }
            "body" => return Ok(gate.body(body(name, value)?)),
            "silence" => {
                let codes: Vec<_> = Mistake::ALL.iter().map(|mistake| mistake.code()).collect();
                return Ok(gate.silence(choice(name, value, &codes)?.parse()?));
            }
            _ => return Ok(gate.scope(&text(name, value)?)),
        }
        Ok(gate)
    }

    fn proxy(&mut self, value: Value) -> Result<(), LimitError> {
        const NAME: &str = "trustedProxies";
        let proxies = match value {
            Value::Text(network) => {
                self.networks.push(network);
                return Ok(());
            }
            Value::Bool(true) => TrustedProxies::everything(),
            Value::Bool(false) => TrustedProxies::none(),
            Value::Number(_) => {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within its bounds")]
                let hops = count(NAME, &value, 0.0, 32.0)? as u32;
                TrustedProxies::hops(hops)?
            }
            other => {
                let problem = "must be a number of proxies, or a list of their networks";
                return Err(LimitError::wrong_type("", NAME, problem, other));
            }
        };
        match self.proxies.replace(proxies) {
            None => Ok(()),
            Some(_) => Err(LimitError::wrong_type("", NAME, "must be given once", "two values")),
        }
    }
}

/// The bits of an IPv6 address that make one client.
///
/// # Errors
/// When it is no whole number from 1 to 128.
pub(crate) fn ipv6_prefix(value: &Value) -> Result<u8, LimitError> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within its bounds")]
    Ok(count("ipv6Prefix", value, 1.0, 128.0)? as u8)
}

/// The style of headers with this name, with the values of the options `draft` and `reset`; an error names it `field`.
///
/// # Errors
/// When one of them does not exist.
pub(crate) fn style_of(
    field: &str,
    name: Value,
    given_draft: Option<Value>,
    given_reset: Option<Value>,
) -> Result<Style, LimitError> {
    let style = style(field, name)?;
    let draft = given_draft.map_or(Ok(Draft::default()), draft)?;
    let reset = given_reset.map_or(Ok(Reset::default()), reset)?;
    Ok(style.draft(draft).reset(reset))
}

fn style(name: &str, value: Value) -> Result<Style, LimitError> {
    choice(name, value, &Style::NAMES)?.parse()
}

/// A draft by its number, or the form of its editors.
fn draft(value: Value) -> Result<Draft, LimitError> {
    let problem = || {
        let numbers = Draft::NUMBERED.map(|(number, _)| number.to_string()).join(", ");
        format!(r#"must be {numbers} or "editors""#)
    };
    match value {
        Value::Text(text) if text == "editors" => Ok(Draft::Editors),
        Value::Number(number) => Draft::NUMBERED
            .into_iter()
            .find_map(|(draft, form)| f64::from(draft).total_cmp(&number).is_eq().then_some(form))
            .ok_or_else(|| LimitError::range("", "draft", problem(), number)),
        other => Err(LimitError::wrong_type("", "draft", problem(), other)),
    }
}

fn reset(value: Value) -> Result<Reset, LimitError> {
    choice("reset", value, &Reset::NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>())?.parse()
}

fn body(name: &str, value: Value) -> Result<Body, LimitError> {
    Ok(match choice(name, value, &["auto", "problem", "json", "text", "none"])?.as_str() {
        "problem" => Body::Always(Form::Problem),
        "json" => Body::Always(Form::Json),
        "text" => Body::Always(Form::Text),
        "none" => Body::Empty,
        _ => Body::Negotiated,
    })
}

fn text(name: &str, value: Value) -> Result<String, LimitError> {
    match value {
        Value::Text(text) => Ok(text),
        other => Err(other.not_text("", name)),
    }
}

fn choice(name: &str, value: Value, names: &[&str]) -> Result<String, LimitError> {
    let quoted: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    let problem = format!("must be one of {}", quoted.join(", "));
    match value {
        Value::Text(text) if names.contains(&text.as_str()) => Ok(text),
        other @ Value::Text(_) => Err(LimitError::range("", name, problem, other)),
        other => Err(LimitError::wrong_type("", name, problem, other)),
    }
}

fn count(name: &str, value: &Value, least: f64, most: f64) -> Result<f64, LimitError> {
    match value {
        Value::Number(number) if (least..=most).contains(number) && number.fract() == 0.0 => Ok(*number),
        Value::Number(number) => {
            Err(LimitError::range("", name, format!("must be a whole number from {least} to {most}"), number))
        }
        other => Err(LimitError::wrong_type("", name, "must be a number", other)),
    }
}
