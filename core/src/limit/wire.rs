//! The wire form: one flat object, the same in JSON, Python and JavaScript.

use std::fmt;

use serde::Serialize;
use serde::ser::Serializer;

use super::bucket::{Bucket, FactorScales};
use super::decay::Decay;
use super::fixed_window::{Anchor, FixedWindow};
use super::legacy::{Legacy, Translation};
use super::sliding_counter::SlidingCounter;
use super::sliding_log::SlidingLog;
use super::sliding_window::SlidingWindow;
use super::smooth::Smooth;
use super::token_bucket::TokenBucket;
use super::{Kind, Limit};
use crate::error::LimitError;

/// A field's value as a host language hands it over, before anything is checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Any number, as a double.
    Number(f64),
    /// A string.
    Text(String),
    /// A boolean, which is never a number here.
    Bool(bool),
    /// `null` or `None`.
    Null,
    /// Anything else, described for the error message.
    Other(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Bool(value) => value.fmt(f),
            Self::Null => f.write_str("null"),
            Self::Other(description) => f.write_str(description),
        }
    }
}

impl From<serde_json::Value> for Value {
    fn from(json: serde_json::Value) -> Self {
        use serde_json::Value as Json;
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(value),
            Json::Number(number) => Self::Number(number.as_f64().unwrap_or(f64::NAN)),
            Json::String(text) => Self::Text(text),
            Json::Array(_) => Self::Other("an array".to_owned()),
            Json::Object(_) => Self::Other("an object".to_owned()),
        }
    }
}

impl Limit {
    /// Reads a definition in the wire form from JSON text.
    ///
    /// # Errors
    /// When the text is not a JSON object, a field is unknown, missing or of the wrong type, or a value out of bounds.
    pub fn from_json(json: &str) -> Result<Self, LimitError> {
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json)
            .map_err(|error| LimitError::wrong_type("", "definition", "must be a JSON object", error))?;
        Self::from_fields(object.into_iter().map(|(name, value)| (name, value.into())))
    }

    /// Reads a definition in the wire form, field by field; what the bindings use.
    ///
    /// # Errors
    /// When a field is unknown, given twice, missing or of the wrong type, or a value out of bounds.
    pub fn from_fields(fields: impl IntoIterator<Item = (String, Value)>) -> Result<Self, LimitError> {
        let mut fields = Fields { key: String::new(), rest: fields.into_iter().collect() };
        fields.key = match fields.take("key") {
            Some(Value::Text(key)) => key,
            Some(other) => return Err(LimitError::wrong_type("", "key", "must be a string", other)),
            None => return Err(LimitError::wrong_type("", "key", "must be given", "none")),
        };
        let kind = fields.kind()?;
        fields.none_left()?;
        Self::new(fields.key, kind)
    }

    /// The definition in the wire form, as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        // A struct of numbers and strings: there is nothing in it that serialisation can refuse.
        serde_json::to_string(self).unwrap_or_default()
    }
}

struct Fields {
    key: String,
    rest: Vec<(String, Value)>,
}

impl Fields {
    fn kind(&mut self) -> Result<Kind, LimitError> {
        match self.take("type") {
            None => self.legacy(),
            Some(Value::Text(name)) => match name.as_str() {
                "bucket" => self.bucket(),
                "token-bucket" => self.token_bucket(),
                "fixed-window" => self.fixed_window(),
                "sliding-window" => self.sliding_window(),
                "sliding-counter" => self.sliding_counter(),
                "sliding-log" => self.sliding_log(),
                "decay" => self.decay(),
                "smooth" => self.smooth(),
                _ => Err(LimitError::range(&self.key, "type", "must be a known type", Value::Text(name))),
            },
            Some(other) => Err(LimitError::wrong_type(&self.key, "type", "must be a string", other)),
        }
    }

    fn bucket(&mut self) -> Result<Kind, LimitError> {
        let mut bucket = Bucket::new(self.number("size")?);
        bucket.drip_rate = self.optional_number("dripRate")?.unwrap_or(bucket.drip_rate);
        bucket.drip_size = self.optional_number("dripSize")?.unwrap_or(bucket.drip_size);
        bucket.factor_scales = self.choice("factorScales", &FactorScales::NAMES)?;
        Ok(bucket.into())
    }

    fn token_bucket(&mut self) -> Result<Kind, LimitError> {
        let (count, period) = (self.number("count")?, self.number("period")?);
        Ok(TokenBucket { count, period, burst: self.optional_number("burst")? }.into())
    }

    fn fixed_window(&mut self) -> Result<Kind, LimitError> {
        let (max, period) = (self.number("max")?, self.number("period")?);
        Ok(FixedWindow { max, period, anchor: self.choice("anchor", &Anchor::NAMES)? }.into())
    }

    fn sliding_window(&mut self) -> Result<Kind, LimitError> {
        let (max, period, resolution) = (self.number("max")?, self.number("period")?, self.number("resolution")?);
        Ok(SlidingWindow { max, period, resolution, count_blocked: self.flag("countBlocked")? }.into())
    }

    fn sliding_counter(&mut self) -> Result<Kind, LimitError> {
        Ok(SlidingCounter { max: self.number("max")?, period: self.number("period")? }.into())
    }

    fn sliding_log(&mut self) -> Result<Kind, LimitError> {
        let (max, period) = (self.number("max")?, self.number("period")?);
        let min_interval = self.optional_number("minInterval")?.unwrap_or(0.0);
        Ok(SlidingLog { max, period, min_interval, count_blocked: self.flag("countBlocked")? }.into())
    }

    fn decay(&mut self) -> Result<Kind, LimitError> {
        let (max, decay_factor) = (self.number("max")?, self.number("decayFactor")?);
        let resolution = self.number("resolution")?;
        Ok(Decay { max, decay_factor, resolution, count_blocked: self.flag("countBlocked")? }.into())
    }

    fn smooth(&mut self) -> Result<Kind, LimitError> {
        let mut smooth = Smooth::new(self.number("rate")?);
        smooth.max_burst = self.optional_number("maxBurst")?.unwrap_or(smooth.max_burst);
        smooth.warmup = self.optional_number("warmup")?.unwrap_or(smooth.warmup);
        smooth.cold_factor = self.optional_number("coldFactor")?.unwrap_or(smooth.cold_factor);
        Ok(smooth.into())
    }

    fn legacy(&mut self) -> Result<Kind, LimitError> {
        Ok(Legacy {
            max: self.optional_number("max")?,
            duration: self.optional_number("duration")?,
            min_interval: self.optional_number("minInterval")?,
            factor_scales: self.choice("factorScales", &FactorScales::NAMES)?,
            translation: self.choice("translation", &Translation::NAMES)?,
        }
        .into())
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        let index = self.rest.iter().position(|(field, _)| field == name)?;
        Some(self.rest.swap_remove(index).1)
    }

    fn number(&mut self, name: &'static str) -> Result<f64, LimitError> {
        self.optional_number(name)?.ok_or_else(|| LimitError::wrong_type(&self.key, name, "must be given", "none"))
    }

    fn optional_number(&mut self, name: &'static str) -> Result<Option<f64>, LimitError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(number)),
            Some(other) => Err(LimitError::wrong_type(&self.key, name, "must be a number", other)),
        }
    }

    fn flag(&mut self, name: &'static str) -> Result<bool, LimitError> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(set)) => Ok(set),
            Some(other) => Err(LimitError::wrong_type(&self.key, name, "must be true or false", other)),
        }
    }

    fn choice<T: Copy + Default>(&mut self, name: &'static str, names: &[(&str, T)]) -> Result<T, LimitError> {
        let Some(value) = self.take(name) else { return Ok(T::default()) };
        let chosen = match &value {
            Value::Text(text) => names.iter().find(|(known, _)| known == text),
            _ => return Err(LimitError::wrong_type(&self.key, name, "must be a string", value)),
        };
        chosen.map(|(_, choice)| *choice).ok_or_else(|| {
            let known: Vec<_> = names.iter().map(|(known, _)| format!("{known:?}")).collect();
            LimitError::range(&self.key, name, format!("must be {}", known.join(" or ")), value)
        })
    }

    /// A misspelt field must not silently leave its default in force.
    fn none_left(&mut self) -> Result<(), LimitError> {
        match self.rest.pop() {
            None => Ok(()),
            Some((name, value)) => Err(LimitError::new(
                crate::ErrorKind::Type,
                &self.key,
                crate::error::excerpt(&name),
                "is not a field of this type",
                value,
            )),
        }
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Parameters<'a> {
            Bucket(&'a Bucket),
            TokenBucket(&'a TokenBucket),
            FixedWindow(&'a FixedWindow),
            SlidingWindow(&'a SlidingWindow),
            SlidingCounter(&'a SlidingCounter),
            SlidingLog(&'a SlidingLog),
            Decay(&'a Decay),
            Smooth(&'a Smooth),
            Legacy(&'a Legacy),
        }
        #[derive(Serialize)]
        struct Wire<'a> {
            key: &'a str,
            #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
            kind: Option<&'static str>,
            #[serde(flatten)]
            parameters: Parameters<'a>,
        }
        let (kind, parameters) = match self.kind() {
            Kind::Bucket(bucket) => (Some("bucket"), Parameters::Bucket(bucket)),
            Kind::TokenBucket(bucket) => (Some("token-bucket"), Parameters::TokenBucket(bucket)),
            Kind::FixedWindow(window) => (Some("fixed-window"), Parameters::FixedWindow(window)),
            Kind::SlidingWindow(window) => (Some("sliding-window"), Parameters::SlidingWindow(window)),
            Kind::SlidingCounter(counter) => (Some("sliding-counter"), Parameters::SlidingCounter(counter)),
            Kind::SlidingLog(log) => (Some("sliding-log"), Parameters::SlidingLog(log)),
            Kind::Decay(decay) => (Some("decay"), Parameters::Decay(decay)),
            Kind::Smooth(smooth) => (Some("smooth"), Parameters::Smooth(smooth)),
            Kind::Legacy(legacy) => (None, Parameters::Legacy(legacy)),
        };
        Wire { key: self.key(), kind, parameters }.serialize(serializer)
    }
}
