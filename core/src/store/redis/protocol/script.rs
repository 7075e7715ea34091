//! The script that a server runs: the engine's arithmetic once more, in Lua.

use std::sync::LazyLock;

use crate::algorithm::states;

/// The twins of the algorithms; the long ones share what a series can do.
macro_rules! algorithms {
    (; small: [$($small:ident $small_name:ident $_small:tt)*]
        long: [$($long:ident $long_name:ident $_long:tt)*]) => {
        concat!(
            $(include_str!(concat!("../lua/", stringify!($small_name), ".lua")),)*
            include_str!("../lua/series.lua"),
            $(include_str!(concat!("../lua/", stringify!($long_name), ".lua")),)*
        )
    };
}

/// All of it: decisions as long as they are the commonest one, then one of any other kind, and so on.
pub(crate) const SOURCE: &str = concat!(
    include_str!("../lua/prelude.lua"),
    "while place < rules_at do\n",
    include_str!("../lua/plain.lua"),
    "if place < rules_at then if not decide then local function algorithm_of(kind)\n",
    include_str!("../lua/text.lua"),
    states!(algorithms!()),
    include_str!("../lua/sharkey.lua"),
    "end\n",
    include_str!("../lua/together.lua"),
    "end answer, place = decide(place) end end\n",
    include_str!("../lua/answer.lua"),
);

/// The hash by which a server identifies [`SOURCE`] once it has loaded it.
pub(crate) static SHA: LazyLock<String> = LazyLock::new(|| redis::Script::new(SOURCE).get_hash().to_owned());
