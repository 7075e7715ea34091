//! Responses to clients of gRPC, which read a status of their own and no body.

use std::fmt::Write;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};

const MEDIA_TYPE: &str = "application/grpc";

/// True for a request of gRPC: `application/grpc`, `application/grpc+proto`. Clients of gRPC-Web read the status of HTTP.
pub(super) fn is_asked(headers: &HeaderMap) -> bool {
    let rest = headers.get(CONTENT_TYPE).and_then(|given| given.as_bytes().strip_prefix(MEDIA_TYPE.as_bytes()));
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}

/// The same response as gRPC has it: status 200, the code and the message among the headers, and no body.
pub(super) fn response(of: Response<String>) -> Response<String> {
    let (mut parts, body) = of.into_parts();
    let code = match parts.status {
        StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE => "3", // INVALID_ARGUMENT
        StatusCode::SERVICE_UNAVAILABLE => "14",                        // UNAVAILABLE
        status if status.is_client_error() => "8",                      // RESOURCE_EXHAUSTED
        _ => "13",                                                      // INTERNAL
    };
    parts.status = StatusCode::OK;
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    parts.headers.insert(HeaderName::from_static("grpc-status"), HeaderValue::from_static(code));
    if let Ok(message) = HeaderValue::try_from(encoded(body.trim_end())) {
        parts.headers.insert(HeaderName::from_static("grpc-message"), message);
    }
    Response::from_parts(parts, String::new())
}

/// A message as its header has it: printable ASCII, and all other bytes as `%` and two hexadecimal digits.
fn encoded(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    for byte in message.bytes() {
        if matches!(byte, b' '..=b'~') && byte != b'%' {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}
