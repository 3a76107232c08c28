//! A loop with a deadline in Rust: 10 ms of CPU time in every 100 ms, for the calling thread. test/clients/clients.bats runs it.

use rtf::{thread_id, Error, Json, Spool};
use std::time::{Duration, Instant};

/// The scheduling policy of the calling thread, as the kernel has it: 0 ordinary, 6 SCHED_DEADLINE.
fn policy() -> String {
    let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
    let rest = text.rsplit(')').next().unwrap_or("");
    rest.split_whitespace().nth(38).unwrap_or("?").to_string()
}

fn run() -> Result<(), Error> {
    let spool = Spool::open(None)?;
    if let Err(Error::Refused { code, nearest, .. }) = spool.declare("greedy", r#"{"runtime": "99ms", "period": "100ms"}"#) {
        println!("refused: {}, nearest {}", code, nearest);
    }
    let mut camera = spool.declare("camera", r#"{"runtime": "10ms", "period": "100ms", "lifetime": "thread"}"#)?;
    camera.attach(thread_id())?;
    let grant = camera.verdict().get("grant").clone();
    let period = grant.get("period").number();
    println!("{}: {} us in {} us, policy {}", grant.get("plugin").text(), grant.get("accepted_runtime").number(), period, policy());
    let mut next = Instant::now();
    for _job in 0..5 {
        // ... the work ...
        next += Duration::from_micros(period);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    camera.change("runtime", Json::Text("12ms".to_string()))?;
    println!("changed: {} us, policy {}", camera.verdict().get("grant").get("accepted_runtime").number(), policy());
    if std::env::args().len() > 1 {
        // until somebody else ends the reservation
        println!("waits");
        if let Err(end) = camera.wait(Some(Duration::from_secs(10))) {
            println!("{}, policy {}", end, policy());
        }
        return Ok(());
    }
    camera.detach()?;
    println!("detached: policy {}", policy());
    camera.release()?;
    println!("released: policy {}", policy());
    Ok(())
}

fn main() {
    if let Err(error) = run() {
        eprintln!("example: {}", error);
        std::process::exit(75);
    }
}
