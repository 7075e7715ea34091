//! The time that a server spends on decisions, as it reports it. Run with `--ignored --nocapture`.

use ::redis::Pipeline;
use serde_json::json;

use super::{Question, Script, evalsha};
use crate::check::Check;
use crate::decision::Call;
use crate::limit::Limit;
use crate::store::remote::Request;

const ACTORS: usize = 1000;

impl Script {
    /// The least and the median microseconds that a call of the script took, over rounds of a thousand decisions.
    fn busy(&mut self, command: &str, pipelines: &[Pipeline]) -> (f64, f64) {
        let mut rounds = Vec::new();
        for _ in 0..10 {
            for pipeline in pipelines {
                self.ask::<()>(&["CONFIG", "RESETSTAT"]);
                let _: Vec<::redis::Value> = pipeline.query(&mut self.connection).unwrap();
                let told: String = self.ask(&["INFO", "commandstats"]);
                let line = told.lines().find(|line| line.starts_with(&format!("cmdstat_{command}:"))).unwrap();
                let per_call = line.split("usec_per_call=").nth(1).unwrap().split(',').next().unwrap();
                rounds.push(per_call.parse::<f64>().unwrap());
            }
        }
        rounds.sort_unstable_by(f64::total_cmp);
        (rounds[0], rounds[rounds.len() / 2])
    }

    fn show(&mut self, name: &str, of: impl Fn(&str) -> Request) {
        for size in [1, 16, 64] {
            let decisions: Vec<_> = (0..ACTORS).map(|index| of(&format!("user-{index:015}"))).collect();
            let pipelines: Vec<_> = (0..5)
                .map(|_| {
                    let mut pipeline = Pipeline::new();
                    for batch in decisions.chunks_exact(size) {
                        // A deadline far ahead: what a limiter always gives.
                        let batch: Vec<_> = batch.iter().map(|decision| (decision, 1 << 52)).collect();
                        pipeline.add_command(evalsha(&batch));
                    }
                    pipeline
                })
                .collect();
            let (least, median) = self.busy("evalsha", &pipelines);
            let each = |whole: f64| whole / f64::from(u32::try_from(size).unwrap());
            println!("{name:<28} {size:>3}  {:>6.2} {:>6.2}", each(least), each(median));
        }
    }
}

#[test]
#[ignore = "a measurement"]
fn server_microseconds_a_decision() {
    let mut script = Script::start();
    let of = |definition: serde_json::Value| {
        let mut definition = definition;
        definition["key"] = "k".into();
        Limit::from_json(&definition.to_string()).unwrap()
    };
    println!("{:<28} {:>3}  {:>6} {:>6}", "server us a decision", "", "least", "median");
    let sha: String = script.ask(&["SCRIPT", "LOAD", "return 1"]);
    let mut empty = Pipeline::new();
    for _ in 0..ACTORS {
        empty.cmd("EVALSHA").arg(&sha).arg(1).arg("a").arg("b");
    }
    let (least, median) = script.busy("evalsha", &[empty]);
    println!("{:<28} {:>3}  {least:>6.2} {median:>6.2}", "a script that does nothing", 1);

    let limits = [
        ("bucket", json!({ "type": "bucket", "size": 900, "dripRate": 60_000 })),
        ("bucket, denied", json!({ "type": "bucket", "size": 1, "dripRate": 3_600_000 })),
        ("token-bucket", json!({ "type": "token-bucket", "count": 1000, "period": 3_600_000 })),
        ("fixed-window", json!({ "type": "fixed-window", "max": 900, "period": 3_600_000 })),
        ("sliding-counter", json!({ "type": "sliding-counter", "max": 1000, "period": 3_600_000 })),
        ("decay", json!({ "type": "decay", "max": 1000, "decayFactor": 1.1, "resolution": 60_000 })),
        ("smooth", json!({ "type": "smooth", "rate": 1000 })),
        ("sliding-window", json!({ "type": "sliding-window", "max": 1000, "period": 3_600_000, "resolution": 60_000 })),
        ("sliding-log", json!({ "type": "sliding-log", "max": 1000, "period": 3_600_000 })),
    ];
    for (name, definition) in limits {
        let limit = of(definition);
        script
            .show(name, |actor| Question::new(name, &[Check::new(&limit, actor)], Call::Limit, None).decision.unwrap());
    }
    let bucket = of(json!({ "type": "bucket", "size": 900, "dripRate": 60_000 }));
    script.show("bucket, peek", |actor| {
        Question::new("bucket", &[Check::new(&bucket, actor)], Call::Peek, None).decision.unwrap()
    });
    let limits = ["a", "b", "c"].map(|key| Limit::bucket(key, 900).build().unwrap());
    script.show("three buckets", |actor| {
        let checks = limits.each_ref().map(|limit| Check::new(limit, actor));
        Question::new("three", &checks, Call::Limit, None).decision.unwrap()
    });
}
