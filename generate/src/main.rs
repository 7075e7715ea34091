//! Writes what other languages need of the engine's definitions, and what Python's limiters share; with `--check`, compares it with what is committed.

mod info;
mod node;
mod python;
mod stub;
mod text;
mod verbs;

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use tidegate::Limit;
use tidegate::ffi::outlines;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let only_checks = env::args().any(|argument| argument == "--check");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let types = outlines();
    let stub = "python/tidegate/_tidegate.pyi";
    let info = "node/lib/info.ts";
    let package = "python/tidegate/__init__.py";
    let read = |path: &str| fs::read_to_string(root.join(path));
    let limiter = verbs::limiter(&read(stub)?)?;
    let [class, methods, calls, aio, answers] = [
        "python/src/limiter/state.rs",
        "python/src/limiter/mod.rs",
        "python/src/async_calls.rs",
        "python/tidegate/_aio.py",
        "python/src/info/answer.rs",
    ];
    let files = [
        ("core/schema/limit.schema.json", Limit::json_schema()),
        ("python/src/limits/generated.rs", python::classes(&types)?),
        (stub, info::stub(&verbs::stub(&limiter, &python::stub(&types, &read(stub)?)?)?)?),
        (answers, info::methods(&read(answers)?)?),
        ("python/tidegate/_drafts.py", python::drafts()),
        (package, python::exports(&types, &read(package)?)?),
        (class, verbs::class_documentation(&limiter, &read(class)?)?),
        (methods, verbs::methods(&limiter, &read(methods)?)?),
        (calls, verbs::async_calls(&limiter, &read(calls)?)?),
        (aio, verbs::async_limiter(&limiter, &read(aio)?)?),
        ("node/lib/definitions.ts", node::definitions(&types)?),
        ("node/lib/limits.ts", node::functions(&types)?),
        ("node/lib/limits.mts", node::exports(&types)),
        ("node/lib/buffer.ts", node::buffer()?),
        ("node/src/layout.rs", node::offsets_for_the_addon()?),
        ("node/lib/names.ts", node::names()?),
        (info, node::info(&fs::read_to_string(root.join(info))?)?),
        ("node/lib/verbs.ts", node::class()?),
    ];
    let mut is_stale = false;
    for (path, content) in files {
        let file = root.join(path);
        if fs::read_to_string(&file).unwrap_or_default() == content {
            continue;
        }
        if only_checks {
            println!("{path} is stale: run `make generate`");
            is_stale = true;
        } else {
            fs::write(&file, content)?;
            println!("wrote {path}");
        }
    }
    Ok(if is_stale { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
