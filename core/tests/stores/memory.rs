//! The store in this process's memory.

use tidegate::{Limiter, Memory};

use crate::Subject;

struct InMemory;

impl Subject for InMemory {
    fn limiters(&self) -> [Limiter; 2] {
        let limiter = Limiter::new(Memory::new());
        [limiter.clone(), limiter]
    }
}

crate::conforms!(InMemory, vectors suite);
