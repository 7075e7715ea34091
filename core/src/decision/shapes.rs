//! The list of shapes.

/// Every shape of state: its variant of [`Rule`](crate::limit::Rule) and [`Entry`](super::Entry), the method that finds
/// it in an entry, and the state itself. Small ones are copied; long ones are lent.
macro_rules! shapes {
    ($with:ident!($($arguments:tt)*)) => {
        $with! { $($arguments)*;
            small:
                Level level super::level::Level,
                Counter counter super::counter::Windows,
                Decay decay super::decay::Decayed,
                Smooth smooth super::smooth::Paced;
            long:
                Slots slots super::series::Series,
                Log log super::series::Series
        }
    };
}

pub(crate) use shapes;
