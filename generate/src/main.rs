//! Writes what other languages need of the engine's definitions, and what Python's limiters share.

mod info;
mod node;
mod python;
mod readme;
mod schema;
mod stub;
mod text;
mod verbs;

use std::error::Error;
use std::fs;
use std::path::Path;

use tidegate::ffi::outlines;

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (path, content) in stale(&root)? {
        fs::write(root.join(path), content)?;
        println!("wrote {path}");
    }
    Ok(())
}

/// Each file that differs from what is generated, with its new content.
fn stale(root: &Path) -> Result<Vec<(&'static str, String)>, Box<dyn Error>> {
    let types = outlines();
    let stub = "python/tidegate/_tidegate.pyi";
    let info = "node/lib/results/info.ts";
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
        ("python/README.md", readme::published(&read("README.md")?)),
        ("core/schema/limit.schema.json", schema::schema(&types)?),
        ("python/src/limits/generated.rs", python::classes(&types)?),
        (stub, info::stub(&verbs::stub(&limiter, &python::stub(&types, &read(stub)?)?)?)?),
        (answers, info::methods(&read(answers)?)?),
        ("python/tidegate/_drafts.py", python::drafts()),
        (package, python::exports(&types, &read(package)?)?),
        (class, verbs::class_documentation(&limiter, &read(class)?)?),
        (methods, verbs::methods(&limiter, &read(methods)?)?),
        (calls, verbs::async_calls(&limiter, &read(calls)?)?),
        (aio, verbs::async_limiter(&limiter, &read(aio)?)?),
        ("node/lib/limits/definitions.ts", node::definitions(&types)?),
        ("node/lib/limits.ts", node::functions(&types)?),
        ("node/lib/limits.mts", node::exports(&types)),
        ("node/lib/native/buffer.ts", node::buffer()?),
        ("node/src/layout.rs", node::offsets_for_the_addon()?),
        ("node/lib/native/names.ts", node::names()?),
        ("node/lib/limiter/store-options.ts", node::options()?),
        (info, node::info(&read(info)?)?),
    ];
    Ok(files.into_iter().filter(|(path, content)| read(path).unwrap_or_default() != *content).collect())
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::path::Path;

    #[test]
    fn what_is_committed_is_what_would_be_written() -> Result<(), Box<dyn Error>> {
        let stale = super::stale(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))?;
        let paths: Vec<&str> = stale.iter().map(|(path, _)| *path).collect();
        assert!(paths.is_empty(), "run `make generate`, which writes {paths:?} anew");
        Ok(())
    }
}
