//! Any JavaScript value as the engine's `Value`, for definitions and for error messages.

use napi::bindgen_prelude::{FromNapiValue, Unknown};
use napi::{JsValue, Result, ValueType};
use tidegate::limits::Value;

use crate::units::string;

/// Never calls JavaScript: an object is only described, never looked into.
pub(crate) fn value(of: &Unknown<'_>) -> Result<Value> {
    Ok(match of.get_type()? {
        ValueType::Number => Value::Number(read(of)?),
        ValueType::String => string(of).map_or(Value::Malformed, Value::Text),
        ValueType::Boolean => Value::Bool(read(of)?),
        ValueType::Null => Value::Null,
        ValueType::Undefined => Value::Other("undefined".to_owned()),
        ValueType::Object if is_array(of)? => Value::Other("an array".to_owned()),
        ValueType::Object => Value::Other("an object".to_owned()),
        ValueType::Function => Value::Other("a function".to_owned()),
        ValueType::Symbol => Value::Other("a symbol".to_owned()),
        ValueType::BigInt => Value::Other("a bigint".to_owned()),
        _ => Value::Other("an unknown value".to_owned()),
    })
}

fn read<T: FromNapiValue>(of: &Unknown<'_>) -> Result<T> {
    let of = of.value();
    // SAFETY: environment and value come from the call that is under way.
    unsafe { T::from_napi_value(of.env, of.value) }
}

fn is_array(of: &Unknown<'_>) -> Result<bool> {
    of.coerce_to_object()?.is_array()
}
