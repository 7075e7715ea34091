//! The script that a server runs: the engine's arithmetic once more, in Lua.

use std::sync::LazyLock;

/// All of it: decisions as long as they are the commonest one, then one of any other kind, and so on.
pub(crate) const SOURCE: &str = concat!(
    include_str!("lua/prelude.lua"),
    "while place < rules_at do\n",
    include_str!("lua/plain.lua"),
    "if place < rules_at then if not decide then local function algorithm_of(kind)\n",
    include_str!("lua/text.lua"),
    include_str!("lua/level.lua"),
    include_str!("lua/counter.lua"),
    include_str!("lua/decay.lua"),
    include_str!("lua/smooth.lua"),
    include_str!("lua/series.lua"),
    include_str!("lua/slots.lua"),
    include_str!("lua/log.lua"),
    include_str!("lua/sharkey.lua"),
    "end\n",
    include_str!("lua/together.lua"),
    "end answer, place = decide(place) end end\n",
    include_str!("lua/answer.lua"),
);

/// The hash by which a server identifies [`SOURCE`] once it has loaded it.
pub(crate) static SHA: LazyLock<String> = LazyLock::new(|| redis::Script::new(SOURCE).get_hash().to_owned());
