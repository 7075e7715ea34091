//! The script that a server runs: the engine's arithmetic once more, in Lua.

use std::sync::LazyLock;

/// All of it. A room is entered once a rule needs it: a function costs a script time even where it is only made.
pub(crate) const SOURCE: &str = concat!(
    include_str!("lua/prelude.lua"),
    "local function room_of(kind)\n",
    include_str!("lua/text.lua"),
    include_str!("lua/cell.lua"),
    include_str!("lua/counter.lua"),
    include_str!("lua/decay.lua"),
    include_str!("lua/smooth.lua"),
    include_str!("lua/series.lua"),
    include_str!("lua/slots.lua"),
    include_str!("lua/log.lua"),
    "end\n",
    include_str!("lua/together.lua"),
);

/// What a server that has seen [`SOURCE`] before knows it by.
pub(crate) static SHA: LazyLock<String> = LazyLock::new(|| redis::Script::new(SOURCE).get_hash().to_owned());
