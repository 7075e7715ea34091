//! Links the addon so that Node's own symbols are found when it is loaded.

fn main() {
    napi_build::setup();
}
