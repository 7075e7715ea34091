//! Windows of a calendar: a count for each day, week, month or year of a time zone.

use super::blocking::Blocking;
use super::form::{Form, count, whole_up_to};
use super::number::Scope;
use super::parameters::{Choice, parameters};
use super::rules::Rules;
use super::{Builder, Definition, Limit};
use crate::algorithm::{Almanac, Calendar, CalendarUnit, Rule};
use crate::error::LimitError;
use crate::names::named;

const UTC: &str = "UTC";

named!(CalendarUnit, "unit", Day = "day", Week = "week", Month = "month", Year = "year");

impl Choice for CalendarUnit {}

/// At most `max` units in each day, week, month or year of a time zone.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "type", rename = "calendar-window", rename_all = "camelCase")]
pub struct CalendarWindow {
    pub(crate) max: f64,
    pub(crate) unit: CalendarUnit,
    pub(crate) time_zone: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) starts_on: Option<f64>,
    #[serde(flatten)]
    pub(crate) blocking: Blocking,
}

parameters! {
    CalendarWindow {
        /// The units that each window admits.
        max: u64,
        /// The length of a window.
        unit: CalendarUnit,
        /// The day on which a window begins, of a week (1 = Monday) or of a month; `None` is the first.
        starts_on: Option<u64>,
        /// The block after a refusal.
        blocking: Blocking,
        ;
        /// The time zone whose midnights count, by its IANA name.
        time_zone: &str,
    }
}

impl CalendarWindow {
    pub(crate) fn new(max: f64, unit: CalendarUnit) -> Self {
        Self { max, unit, time_zone: UTC.to_owned(), starts_on: None, blocking: Blocking::NONE }
    }

    pub(crate) fn compile(&self, scope: Scope<'_>) -> Result<Rule, LimitError> {
        let max = scope.scaled("max", self.max)?;
        let starts_on = match (self.starts_on, self.unit.last_start()) {
            (None, _) => 1,
            (Some(day), 0) => {
                let problem = format!("must not be given for a {}", self.unit);
                return Err(LimitError::range(scope.key, "startsOn", problem, day));
            }
            (Some(day), last) => scope.whole_up_to("startsOn", day, last)?,
        };
        let Some(almanac) = Almanac::of(&self.time_zone, self.unit, starts_on) else {
            let given = crate::error::excerpt(&self.time_zone);
            let problem = "must be the name of a time zone of the IANA database, such as \"Europe/Berlin\"";
            return Err(LimitError::range(scope.key, "timeZone", problem, format_args!("{given:?}")));
        };
        Ok(Rule::Calendar(Calendar { max, almanac }))
    }
}

impl Definition for CalendarWindow {
    const TYPE: Option<&'static str> = Some("calendar-window");
    const EXAMPLE: &'static str =
        r#"{ "key": "plan", "type": "calendar-window", "max": 10000, "unit": "month", "timeZone": "Europe/Berlin" }"#;

    fn form(form: &mut impl Form) -> Self {
        form.about(
            "At most `max` units in each day, week, month or year of a time zone.",
            "Each window begins at midnight there; a shorter month begins on its last day if it has no other. The rules of \
             time zones are those of a database within this library.",
        );
        Self {
            max: form.required(count("max", "Units in each window.")),
            unit: form.required_choice("unit", "Length of a window.", CalendarUnit::NAMES),
            time_zone: form.text_or("timeZone", "Time zone whose midnights count, by its IANA name.", UTC),
            starts_on: form.optional(whole_up_to(
                31,
                "startsOn",
                "First day of a window: of a week 1 (Monday) to 7, of a month 1 to 31; 1 if left out.",
            )),
            blocking: Blocking::form(form),
        }
    }

    fn rules(&self, scope: Scope<'_>) -> Result<Rules, LimitError> {
        self.compile(scope).map(Rules::One)
    }
}

impl Limit {
    /// At most `max` in each day, week, month or year of a time zone.
    ///
    /// ```
    /// use tidegate::Limit;
    /// use tidegate::limits::CalendarUnit;
    ///
    /// let plan = Limit::calendar_window("plan", 10_000, CalendarUnit::Month).time_zone("Europe/Berlin").build()?;
    /// assert_eq!(plan.key(), "plan");
    /// # Ok::<(), tidegate::LimitError>(())
    /// ```
    pub fn calendar_window(key: impl Into<String>, max: u64, unit: CalendarUnit) -> Builder<CalendarWindow> {
        Builder { key: key.into(), kind: CalendarWindow::new(max as f64, unit) }
    }
}

impl Builder<CalendarWindow> {
    /// The time zone whose midnights count, by its IANA name; UTC unless set.
    #[must_use]
    pub fn time_zone(mut self, name: impl Into<String>) -> Self {
        self.kind.time_zone = name.into();
        self
    }

    /// The first day of a window: of a week from 1 (Monday) to 7, of a month from 1 to 31, where a shorter month begins
    /// on its last day. The first unless set.
    #[must_use]
    pub fn starts_on(mut self, day: u8) -> Self {
        self.kind.starts_on = Some(day.into());
        self
    }
}
