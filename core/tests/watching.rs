//! Documents that change while the program runs.
#![cfg(feature = "toml")]

use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tidegate::config::{Change, Limits, Watch, Watched};
use tidegate::{Call, Limiter, Memory};

/// A file of its own for each test.
struct Document(PathBuf);

impl Document {
    fn new(test: &str, content: &str) -> Self {
        let document = Self(std::env::temp_dir().join(format!("tidegate-{test}-{}.toml", std::process::id())));
        document.write(content);
        document
    }

    fn write(&self, text: &str) {
        fs::write(&self.0, text).expect("written");
    }

    /// All at once: nobody who looks meanwhile finds the file empty.
    fn replace(&self, text: &str) {
        let other = self.0.with_extension("new");
        fs::write(&other, text).expect("written");
        fs::rename(&other, &self.0).expect("replaced");
    }

    fn watched(&self) -> Watched {
        Watch::new(&self.0).by_hand().expect("sound")
    }
}

impl Drop for Document {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn names(watched: &Watched) -> Vec<String> {
    watched.current().names().map(str::to_owned).collect()
}

#[test]
fn a_new_text_counts_when_it_has_been_read_twice() {
    let document = Document::new("twice", "api = '100/minute'\n");
    let watched = document.watched();
    assert!(watched.look().is_none());
    let every = watched.pause();

    document.write("");
    assert!(watched.look().is_none());
    assert_eq!(names(&watched), ["api"], "a file that is being written is empty at first");
    assert!(watched.pause() < every, "it is looked at again soon");

    document.write("api = '5/s'\nlogin = '5/m'\n");
    assert!(watched.look().is_none());
    let Some(Change::Changed(limits)) = watched.look() else { panic!("changed") };
    assert_eq!(limits.names().collect::<Vec<_>>(), ["api", "login"]);
    assert_eq!(names(&watched), ["api", "login"]);
    assert_eq!(watched.pause(), every);
    assert!(watched.look().is_none());
}

#[test]
fn a_wrong_document_is_told_once_and_changes_nothing() {
    let document = Document::new("wrong", "api = '100/minute'\n");
    let watched = document.watched();
    for wrong in ["api = '10/fortnight'\n", "api = \n", ""] {
        if wrong.is_empty() {
            fs::remove_file(&document.0).expect("removed");
        } else {
            document.write(wrong);
        }
        let _ = watched.look();
        let Some(Change::Wrong(error)) = watched.look() else { panic!("wrong") };
        assert!(error.to_string().contains("tidegate-wrong-"), "{error}");
        assert!((0..3).all(|_| watched.look().is_none()), "once");
        assert_eq!(names(&watched), ["api"]);
        assert!(watched.reload().is_err(), "but who asks is told again");
    }
    document.write("api = '100/minute'\n");
    assert!(watched.reload().expect("sound"));
    assert!(!watched.reload().expect("sound"));
}

#[test]
fn a_document_without_a_needed_limit_is_wrong() {
    let document = Document::new("needed", "api = '100/minute'\nlogin = '5/m'\n");
    let watched = document.watched();
    assert!(watched.need("api"));
    assert!(!watched.need("nobody"));
    document.write("login = '5/m'\n");
    let error = watched.reload().expect_err("it has no api");
    assert_eq!(error.errors()[0].to_string(), "api: must be given: the program asks for it");
    document.write("api = '5/m'\n");
    assert!(watched.reload().expect("sound"));
}

#[test]
fn a_limit_stays_one_that_holds_units_or_one_that_spends_them() {
    let document =
        Document::new("holds", "api = '100/minute'\njobs = { type = 'concurrency', max = 3, lease = 60000 }\n");
    let watched = document.watched();
    document.write("jobs = '100/minute'\napi = { type = 'concurrency', max = 3, lease = 60000 }\n");
    let error = watched.reload().expect_err("other calls");
    let errors: Vec<_> = error.errors().iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            "jobs: must stay of type concurrency while the program runs",
            "api: must not become of type concurrency while the program runs"
        ]
    );
}

#[test]
fn a_change_keeps_what_was_used() {
    let document = Document::new("used", "api = { type = 'bucket', size = 10 }\n");
    let (watched, limiter) = (document.watched(), Limiter::new(Memory::new()));
    let remaining = || {
        let current = watched.current();
        limiter.decide_sync(&[current.check("api", "ada").expect("api")], Call::Limit).expect("decided").remaining
    };
    assert_eq!(remaining(), 9);
    document.write("api = { type = 'bucket', size = 10 }\noverrides = [{ actor = 'ada', factor = 0.5 }]\n");
    assert!(watched.reload().expect("sound"));
    assert_eq!(remaining(), 18);
}

fn told(changes: &Receiver<Change>) -> Change {
    changes.recv_timeout(Duration::from_secs(60)).expect("told")
}

#[test]
fn the_thread_tells_of_changes_and_ends_with_the_last_clone() {
    let document = Document::new("thread", "api = '100/minute'\n");
    let (tell, changes) = channel();
    let watched = Watch::new(&document.0)
        .every(Duration::from_millis(20))
        .on_change(move |change| {
            let _ = tell.send(change.clone());
            panic!("the listener's own mistake");
        })
        .start()
        .expect("sound");
    document.replace("api = '5/s'\n");
    assert!(matches!(told(&changes), Change::Changed(_)));
    document.replace("api = '5/fortnight'\n");
    assert!(matches!(told(&changes), Change::Wrong(_)));
    let clone = watched.clone();
    drop(watched);
    document.replace("api = '7/s'\n");
    assert!(matches!(told(&changes), Change::Changed(_)));
    drop(clone);
    // The listener is dropped with the thread that called it.
    while changes.recv_timeout(Duration::from_secs(60)).is_ok() {}
    assert_eq!(changes.try_recv().err(), Some(std::sync::mpsc::TryRecvError::Disconnected));
}

#[cfg(feature = "tower")]
#[test]
fn a_layer_of_tower_takes_the_limits_that_hold_now() {
    use axum::Router;
    use serde_json::json;
    use tidegate::tower::RateLimitLayer;

    let text = "api = { type = 'bucket', size = 2, dripRate = 3600000 }\nlogin = '1/day'\n\
                [[overrides]]\nactor = 'acme'\nlimit = 'api'\ndefinition = '3/day'\n\
                [[overrides]]\nactor = 'monitor'\nunlimited = true\n";
    let document = Document::new("tower", text);
    let watched = document.watched();
    assert!(watched.select(["api", "nobody"]).is_err());
    let limits = watched.select(["api"]).expect("there");
    let layer = RateLimitLayer::new(Limiter::new(Memory::new()), [])
        .watched(limits)
        .key(|request| request.headers.get("x-key")?.to_str().ok().map(str::to_owned));
    let app = Router::new().fallback(|| async { "welcome" }).layer(layer);
    crate::tower::runtime().block_on(async {
        let address = crate::tower::serve(app).await;
        let admitted = async |actor: &str| {
            let mut count = 0;
            for _ in 0..6 {
                let answer = crate::tower::ask(address, "/", &json!({ "x-key": actor })).await;
                count += u8::from(answer.status == 200);
            }
            count
        };
        let counts = (admitted("ada").await, admitted("acme").await, admitted("monitor").await);
        assert_eq!(counts, (2, 3, 6));
        document.write("login = '1/day'\n");
        assert!(watched.reload().is_err(), "the layer asks for api");
        document.write("api = { type = 'bucket', size = 4, dripRate = 3600000 }\n");
        assert!(watched.reload().expect("sound"));
        assert_eq!(admitted("ada").await, 2);
    });
}

#[test]
fn the_first_document_has_to_be_sound() {
    let document = Document::new("first", "api = 5\n");
    let error = Limits::watch(&document.0).expect_err("wrong");
    assert_eq!(error.errors()[0].to_string(), "api: must be text or a table, got 5");
    assert!(Limits::watch("nowhere.toml").expect_err("absent").to_string().starts_with("nowhere.toml: cannot be read"));
}
