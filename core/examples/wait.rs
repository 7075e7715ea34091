//! Five tasks that wait for their turns, on the tokio runtime: `cargo run --example wait`.

use std::time::{Duration, Instant};

use tidegate::{Error, Limit, Limiter, Memory};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    // One mail at once, then ten a second.
    let mail = Limit::bucket("mail", 1).drip_rate(Duration::from_millis(100)).build()?;
    let limiter = Limiter::new(Memory::new());
    let began = Instant::now();

    let send = async |number: u32| {
        let info = limiter.acquire(&mail, "outbox", Duration::from_secs(1)).await?;
        println!("mail {number}: sent after {} ms", began.elapsed().as_millis());
        assert!(info.allowed());
        Ok::<_, Error>(info.wait_time())
    };
    let waits = tokio::try_join!(send(1), send(2), send(3), send(4), send(5))?;
    println!("the last of them waited for {} ms", waits.4.as_millis());

    // A wait that would take too long is denied at once.
    let info = limiter.acquire(&mail, "outbox", Duration::from_millis(1)).await?;
    if info.blocked {
        println!("one more: denied, because its turn comes in {} ms", info.reset_ms);
    }
    Ok(())
}
