//! Attempts to log in, limited for each address and for each account: `cargo run --example login`.

use std::time::Duration;

use tidegate::{Call, Check, Error, Limit, Limiter, Memory};

fn main() -> Result<(), Error> {
    // An address may try twenty accounts at once, and an account may be tried three times, then once a minute.
    let per_address = Limit::bucket("login by address", 20).drip_rate(Duration::from_secs(10)).build()?;
    let per_account = Limit::bucket("login by account", 3).drip_rate(Duration::from_secs(60)).build()?;
    let limiter = Limiter::new(Memory::new());

    for attempt in 1..=5 {
        let checks = [Check::new(&per_address, "203.0.113.9"), Check::new(&per_account, "ada")];
        let info = limiter.decide_sync(&checks, Call::Limit)?;
        if info.allowed() {
            println!("attempt {attempt}: admitted, {} left", info.remaining);
        } else {
            let seconds = info.reset_after().as_secs_f64().round();
            println!("attempt {attempt}: denied by {:?}, try again in {seconds} s", info.key(&checks));
        }
        assert_eq!(info.allowed(), attempt <= 3);
    }

    // Nothing is charged where one of the limits denies.
    assert_eq!(limiter.peek_sync(&per_address, "203.0.113.9")?.remaining, 17);

    // The right password gives the account its attempts back.
    limiter.reset_sync(&per_account, "ada")?;
    assert_eq!(limiter.peek_sync(&per_account, "ada")?.remaining, 3);
    Ok(())
}
