//! Tasks that a caller's thread may poll in place of the runtime's.
//!
//! To wake a thread takes longer than to write a few bytes to a socket. So a caller that wakes an idle task by what it
//! sends polls that task itself, and those that are woken by that: each once, so that it is back before an answer is. A
//! task that is not idle is woken once all has been sent.
//!
//! No thread waits for another, and no wake-up is lost: what comes while one polls is passed on to the runtime; see
//! [`Turn`].

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::FutureExt as _;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::task::coop::unconstrained;

use super::turn::{Taken, Turn};

struct Task {
    /// True while a caller may poll it.
    idle: Arc<AtomicBool>,
    runtime: Handle,
    turn: Turn<Pin<Box<dyn Future<Output = ()> + Send>>, Waker>,
}

thread_local! {
    /// The tasks that were woken by what this thread sends, while it does.
    static WOKEN: RefCell<Option<Vec<Arc<Task>>>> = const { RefCell::new(None) };
}

/// Spawns a task that callers may poll while it is idle.
pub(crate) fn spawn(idle: Arc<AtomicBool>, future: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    let task = Task { idle, runtime: Handle::current(), turn: Turn::new(Box::pin(future)) };
    tokio::spawn(OnRuntime(Arc::new(task)))
}

/// Sends something, and polls the idle tasks that are woken by it.
pub(crate) fn send<T>(sends: impl FnOnce() -> T) -> T {
    if WOKEN.try_with(|woken| woken.borrow().is_some()).unwrap_or(true) {
        // Called back by a task that this very thread polls, or at the thread's end.
        return sends();
    }
    WOKEN.set(Some(Vec::new()));
    let _rest = Rest;
    let outcome = sends();
    poll_woken();
    outcome
}

fn poll_woken() {
    let woken = |index: usize| WOKEN.with_borrow(|woken| woken.as_ref()?.get(index).cloned());
    let mut index = 0;
    while let Some(task) = woken(index) {
        if task.idle.load(Ordering::Relaxed) {
            let _entered = task.runtime.enter();
            // The caller's own task, if there is one, has done nothing for which it would have to yield.
            let _ = unconstrained(poll_fn(|_| task.poll())).now_or_never();
        }
        index += 1;
    }
}

/// Leaves what was woken and not polled to the runtime, also where sending panics.
struct Rest;

impl Drop for Rest {
    fn drop(&mut self) {
        WOKEN.take().into_iter().flatten().for_each(|task| task.pass_on());
    }
}

impl Task {
    /// Polls it, unless another thread does. One that panics is over.
    fn poll(self: &Arc<Self>) -> Poll<()> {
        let mut future = match self.turn.take() {
            Taken::It(future) => future,
            Taken::Out => return Poll::Pending,
            Taken::Over => return Poll::Ready(()),
        };
        let waker = Waker::from(self.clone());
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut Context::from_waker(&waker))));
        drop(self.turn.put_back(future, matches!(polled, Ok(Poll::Pending))));
        self.pass_on();
        polled.unwrap_or(Poll::Ready(()))
    }

    /// Has the runtime poll it where that is needed.
    fn pass_on(&self) {
        if let Some(waker) = self.turn.due() {
            waker.wake();
        }
    }

    /// Leaves it to this thread, true if it sends something.
    fn joins_woken(self: &Arc<Self>) -> bool {
        let join = |woken: &RefCell<Option<Vec<Arc<Self>>>>| {
            let mut woken = woken.borrow_mut();
            let Some(woken) = woken.as_mut().filter(|woken| !woken.iter().any(|known| Arc::ptr_eq(known, self))) else {
                return false;
            };
            woken.push(self.clone());
            true
        };
        // A thread that ends has no list any more.
        WOKEN.try_with(join).unwrap_or(false)
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.turn.wake() && !self.joins_woken() {
            self.pass_on();
        }
    }
}

/// The task as its runtime knows it, which alone ends it.
struct OnRuntime(Arc<Task>);

impl Future for OnRuntime {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.turn.belongs_to(|| context.waker().clone());
        self.0.poll()
    }
}

impl Drop for OnRuntime {
    fn drop(&mut self) {
        drop(self.0.turn.end());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::AtomicUsize;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread::{self, ThreadId};
    use std::time::Duration;

    use tokio::runtime::Builder;
    use tokio::sync::{Notify, mpsc};

    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    /// A runtime with a thread of its own, which ends with the test.
    struct Background {
        handle: Handle,
        end: Arc<Notify>,
        thread: Option<thread::JoinHandle<()>>,
    }

    impl Background {
        fn start() -> Self {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            let (handle, end) = (runtime.handle().clone(), Arc::new(Notify::new()));
            let ended = end.clone();
            let thread = thread::spawn(move || runtime.block_on(ended.notified()));
            Self { handle, end, thread: Some(thread) }
        }

        fn id(&self) -> ThreadId {
            self.thread.as_ref().expect("a thread").thread().id()
        }

        /// A task that answers each message with the thread that polls it.
        fn echo(&self, idle: &Arc<AtomicBool>) -> mpsc::UnboundedSender<Sender<ThreadId>> {
            let (sender, mut receiver) = mpsc::unbounded_channel::<Sender<ThreadId>>();
            let _entered = self.handle.enter();
            drop(spawn(idle.clone(), async move {
                while let Some(answer) = receiver.recv().await {
                    let _ = answer.send(thread::current().id());
                }
            }));
            sender
        }
    }

    impl Drop for Background {
        fn drop(&mut self) {
            self.end.notify_one();
            self.thread.take().map(thread::JoinHandle::join);
        }
    }

    fn ask(task: &mpsc::UnboundedSender<Sender<ThreadId>>) -> Receiver<ThreadId> {
        let (answer, answered) = channel();
        send(|| task.send(answer)).expect("a task");
        answered
    }

    /// Waits until the runtime has polled it and it sleeps.
    fn settle(task: &mpsc::UnboundedSender<Sender<ThreadId>>) {
        let (answer, answered) = channel();
        task.send(answer).expect("a task");
        answered.recv_timeout(SOON).expect("an answer");
        thread::sleep(Duration::from_millis(250));
    }

    #[test]
    fn a_caller_polls_what_is_idle_and_nothing_else() {
        let background = Background::start();
        let idle = Arc::new(AtomicBool::new(true));
        let task = background.echo(&idle);
        settle(&task);
        assert_eq!(ask(&task).try_recv(), Ok(thread::current().id()), "before it is back");
        idle.store(false, Ordering::Relaxed);
        assert_eq!(ask(&task).recv_timeout(SOON), Ok(background.id()));
        // What is sent without being a caller's is the runtime's.
        idle.store(true, Ordering::Relaxed);
        let (answer, answered) = channel();
        task.send(answer).expect("a task");
        assert_eq!(answered.recv_timeout(SOON), Ok(background.id()));
    }

    #[test]
    fn a_task_that_is_not_idle_is_woken_once_all_has_been_sent() {
        let background = Background::start();
        let idle = Arc::new(AtomicBool::new(false));
        let task = background.echo(&idle);
        settle(&task);
        let (answer, answered) = channel();
        send(|| {
            for _ in 0..3 {
                task.send(answer.clone()).expect("a task");
            }
            assert!(answered.recv_timeout(Duration::from_millis(50)).is_err(), "nothing is read meanwhile");
        });
        for _ in 0..3 {
            assert_eq!(answered.recv_timeout(SOON), Ok(background.id()));
        }
    }

    #[test]
    fn what_many_threads_send_is_never_lost() {
        let background = Background::start();
        let idle = Arc::new(AtomicBool::new(true));
        let task = background.echo(&idle);
        let polled_here = AtomicUsize::new(0);
        thread::scope(|scope| {
            for number in 0..6 {
                let (task, idle, polled_here) = (&task, &idle, &polled_here);
                scope.spawn(move || {
                    for call in 0..4000 {
                        if number == 0 && call % 8 == 0 {
                            idle.fetch_not(Ordering::Relaxed);
                        }
                        // The next one is only sent when this is answered: one wake-up that is lost is seen.
                        let by = ask(task).recv_timeout(SOON).expect("an answer");
                        polled_here.fetch_add(usize::from(by == thread::current().id()), Ordering::Relaxed);
                    }
                });
            }
        });
        assert!(polled_here.into_inner() > 0, "callers polled as well");
    }

    #[test]
    fn a_task_is_polled_once_by_what_it_wakes_itself() {
        let background = Background::start();
        let polls: Arc<Mutex<Vec<ThreadId>>> = Arc::default();
        let (sender, mut receiver) = mpsc::unbounded_channel::<()>();
        let (kept, entered) = (polls.clone(), background.handle.enter());
        drop(spawn(Arc::new(AtomicBool::new(true)), async move {
            while receiver.recv().await.is_some() {
                for _ in 0..3 {
                    kept.lock().expect("a lock").push(thread::current().id());
                    // Wakes itself.
                    let mut yielded = false;
                    poll_fn(|context| {
                        context.waker().wake_by_ref();
                        if std::mem::replace(&mut yielded, true) { Poll::Ready(()) } else { Poll::Pending }
                    })
                    .await;
                }
            }
        }));
        drop(entered);
        thread::sleep(Duration::from_millis(250));
        send(|| sender.send(())).expect("a task");
        let end = std::time::Instant::now() + SOON;
        while polls.lock().expect("a lock").len() < 3 && std::time::Instant::now() < end {
            thread::yield_now();
        }
        let (here, there) = (thread::current().id(), background.id());
        assert_eq!(*polls.lock().expect("a lock"), [here, there, there], "the rest is the runtime's");
    }

    #[test]
    fn one_that_panics_under_a_caller_is_dropped_and_over() {
        let background = Background::start();
        let (sender, mut receiver) = mpsc::unbounded_channel::<()>();
        let (held, dropped) = channel::<()>();
        let entered = background.handle.enter();
        let task = spawn(Arc::new(AtomicBool::new(true)), async move {
            let _held = held;
            receiver.recv().await;
            panic!("a defect");
        });
        drop(entered);
        thread::sleep(Duration::from_millis(250));
        send(|| sender.send(())).expect("a task");
        assert!(dropped.recv_timeout(SOON).is_err() && sender.is_closed());
        background.handle.block_on(async { tokio::time::timeout(SOON, task).await }).expect("over").expect("no panic");
    }

    #[test]
    fn one_that_is_aborted_while_a_caller_polls_it_ends_with_that() {
        let background = Background::start();
        let (sender, mut receiver) = mpsc::unbounded_channel::<(Sender<()>, Receiver<()>)>();
        let (held, dropped) = channel::<()>();
        let entered = background.handle.enter();
        let task = spawn(Arc::new(AtomicBool::new(true)), async move {
            let _held = held;
            while let Some((polled, go_on)) = receiver.recv().await {
                let _ = polled.send(());
                let _ = go_on.recv_timeout(SOON);
            }
        });
        drop(entered);
        thread::sleep(Duration::from_millis(250));
        let ((polled, is_polled), (goes_on, go_on)) = (channel(), channel());
        let caller = thread::spawn(move || send(|| sender.send((polled, go_on))).is_ok());
        is_polled.recv_timeout(SOON).expect("polled by the caller");
        task.abort();
        let ended = background.handle.block_on(async { tokio::time::timeout(SOON, task).await }).expect("in time");
        assert!(ended.expect_err("aborted").is_cancelled());
        assert_eq!(dropped.try_recv(), Err(std::sync::mpsc::TryRecvError::Empty), "its caller is in it");
        goes_on.send(()).expect("a caller");
        assert!(caller.join().expect("no panic"));
        assert_eq!(dropped.recv_timeout(SOON), Err(std::sync::mpsc::RecvTimeoutError::Disconnected));
    }
}
