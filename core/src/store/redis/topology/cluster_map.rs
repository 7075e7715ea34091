//! The map of a cluster, as one of its nodes answers it.

use std::collections::HashSet;

use redis::aio::ConnectionLike as _;
use redis::{RedisResult, Value};

use crate::store::redis::connection::dial::{A_MAP, open};
use crate::store::redis::connection::error_action::nonsense;
use crate::store::redis::settings::address::Target;
use crate::store::redis::settings::url::Node;

/// Names of primaries in a map at the most, two for each of the 1,000 nodes that Redis recommends as the most: a map with
/// more is none. So no server can make this process connect without bound.
const MOST_NAMES: usize = 2000;

/// A cluster as one of its nodes knows it.
pub(crate) struct NodeView {
    /// The ranges of slots with their primaries.
    pub(super) ranges: Vec<(usize, usize, Node)>,
    /// Every primary, those that have no slots yet too.
    pub(crate) known: HashSet<Node>,
}

/// The primaries that have slots, as a node knows them.
pub(crate) async fn nodes_of(template: &Target, node: &Node) -> RedisResult<Vec<Node>> {
    let mut nodes: Vec<Node> = ask(template, node).await?.ranges.into_iter().map(|(_, _, node)| node).collect();
    nodes.sort();
    nodes.dedup();
    Ok(nodes)
}

/// The map as a node knows it.
pub(crate) async fn ask(template: &Target, node: &Node) -> RedisResult<NodeView> {
    let mut connection = open(&template.at(&node.0, node.1), A_MAP).await?;
    let mut question = redis::pipe();
    question.cmd("CLUSTER").arg("SLOTS").cmd("CLUSTER").arg("NODES");
    let replies = connection.wire.req_packed_commands(&question, 0, 2).await;
    let mut replies = replies.map_err(|error| connection.complaint(error))?.into_iter();
    let ranges: Vec<Vec<Value>> = redis::from_redis_value(replies.next().unwrap_or(Value::Nil).extract_error()?)?;
    let ranges: Vec<_> = ranges.iter().map(|range| read_range(range, &node.0)).collect::<RedisResult<_>>()?;
    let mut known: HashSet<Node> = ranges.iter().map(|(_, _, primary)| primary.clone()).collect();
    // A user may not be allowed to ask for this; then only a node that has slots is known.
    if let Ok(lines) = redis::from_redis_value::<String>(replies.next().unwrap_or(Value::Nil)) {
        known.extend(lines.lines().flat_map(|line| read_node(line, &node.0)));
    }
    if ranges.is_empty() || known.len() > MOST_NAMES {
        return Err(nonsense("CLUSTER SLOTS"));
    }
    Ok(NodeView { ranges, known })
}

/// The names of the primary that a line of `CLUSTER NODES` is about, if it is about one:
/// `id address:port[@port][,name[,…]] flags …`.
fn read_node(line: &str, asked: &str) -> Vec<Node> {
    let mut words = line.split(' ').skip(1);
    let (Some(place), Some(flags)) = (words.next(), words.next()) else { return Vec::new() };
    // One that has failed is none: another one has its slots, or will have.
    let is_well = |flag: &str| !matches!(flag, "fail" | "fail?" | "noaddr" | "handshake");
    if !flags.split(',').any(|flag| flag == "master") || !flags.split(',').all(is_well) {
        return Vec::new();
    }
    let mut names = place.split(',');
    let address = names.next().and_then(|address| address.split('@').next()?.rsplit_once(':'));
    let Some((host, Ok(port))) = address.map(|(host, port)| (host, port.parse::<u16>())) else { return Vec::new() };
    let host = if host.is_empty() { asked } else { host };
    let announced = names.next().filter(|name| !name.is_empty());
    [Some(host), announced].into_iter().flatten().map(|host| (host.to_owned(), port)).collect()
}

fn read_range(range: &[Value], asked: &str) -> RedisResult<(usize, usize, Node)> {
    let bad = || nonsense("CLUSTER SLOTS");
    let [first, last, Value::Array(primary), ..] = range else { return Err(bad()) };
    let [host, port, ..] = &primary[..] else { return Err(bad()) };
    let host: Option<String> = redis::from_redis_value(host.clone()).map_err(|_| bad())?;
    // A node that does not know its own name is where it was asked.
    let host = host.filter(|host| !host.is_empty() && host != "?").unwrap_or_else(|| asked.to_owned());
    let number = |value: &Value| redis::from_redis_value::<u16>(value.clone()).map_err(|_| bad());
    Ok((usize::from(number(first)?), usize::from(number(last)?), (host, number(port)?)))
}
