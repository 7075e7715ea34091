//! Advice behind an error message of a server, for those who set it up.

use std::borrow::Cow;

use super::protocol::script::SOURCE;

/// The words behind which a server repeats the arguments of a command: those are long, and name actors.
const ARGUMENTS: &str = ", with args beginning with";
/// A command that a user may not use, or that was renamed, as servers of every version say it.
const REFUSALS: [&str; 5] =
    ["no permission", "noperm", "can't run this command", "unknown command", "unknown redis command"];

/// True if a command was refused, by its access list or because there is none of that name.
pub(super) fn is_refused(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    REFUSALS.iter().any(|words| said.contains(words))
}

/// True if scripts are refused, or there is no engine for them.
pub(super) fn lacks_scripts(said: &str) -> bool {
    let words = said.to_ascii_lowercase();
    let names = ["evalsha", "script load", "script|load", "'script'", "lua"].iter().any(|name| words.contains(name));
    // What a script was refused is told of below: there are scripts.
    names && line_of(said).is_none() && (is_refused(said) || words.contains("engine"))
}

/// An error message of a server, with advice if there is any.
pub(super) fn advised(said: &str) -> Cow<'_, str> {
    if [SCRIPTS, RIGHT].iter().any(|advice| said.contains(advice)) {
        return Cow::Borrowed(said);
    }
    let shown = said.split_once(ARGUMENTS).map_or(said, |(before, _)| before);
    if lacks_scripts(said) {
        return Cow::Owned(format!("{shown}; {SCRIPTS}"));
    }
    if said.contains("one of the keys") || said.contains("access a key") {
        return Cow::Owned(format!("{shown}; the keys of the namespace {RIGHT}"));
    }
    if !is_refused(said) {
        return Cow::Borrowed(said);
    }
    match line_of(said).and_then(command_of) {
        Some(command) => Cow::Owned(format!("{}; {command} {RIGHT}, and not be renamed", without_place(said))),
        None => Cow::Owned(format!("{shown}; it {RIGHT}, and not be renamed")),
    }
}

const SCRIPTS: &str = "without scripts, strategy=\"transactions\" decides about buckets";
const RIGHT: &str = "must be allowed to the server's user";

/// The line of a script at which an error came about; versions differ in the words around it.
fn line_of(said: &str) -> Option<usize> {
    let (_, behind) = said.rsplit_once("user_script:")?;
    let digits = behind.trim_start();
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// The error that a script met, without its place, which older versions put before it and newer ones behind.
fn without_place(said: &str) -> &str {
    let behind = said.rsplit_once("user_script:").map_or("", |(_, behind)| behind);
    match behind.split_once(": ") {
        Some((_, met)) => met,
        None => said.split_once(" script: ").map_or(said, |(met, _)| met),
    }
}

/// The command that is called on this line of our script.
fn command_of(line: usize) -> Option<&'static str> {
    let (_, behind) = SOURCE.lines().nth(line.checked_sub(1)?)?.split_once("call('")?;
    behind.split_once('\'').map(|(command, _)| command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_a_script_may_not_use_is_named() {
        let line = 1 + SOURCE.lines().position(|line| line.contains("call('TIME')")).expect("a look at the clock");
        // As Redis 6.2, Redis 7 and Valkey 8 say it.
        let older = "Unknown Redis command called from Lua script";
        let newer = "ResponseError: Unknown Redis command called from script";
        let valkey = "ResponseError: Unknown command called from script";
        for (said, met) in [
            (format!("Error running script (call to f_0): @user_script:{line}: @user_script: {line}: {older}"), older),
            (format!("{newer} script: 0, on @user_script:{line}."), newer),
            (format!("{valkey} script: 0, on @user_script:{line}."), valkey),
        ] {
            let advised = advised(&said);
            assert_eq!(advised, format!("{met}; TIME must be allowed to the server's user, and not be renamed"));
            assert_eq!(super::advised(&advised), advised, "once");
        }
    }

    #[test]
    fn arguments_are_left_out() {
        let advised = advised("ERR unknown command 'EVALSHA', with args beginning with: '0' '1' 'shop:{ada}:login'");
        let advice = "ERR unknown command 'EVALSHA'; without scripts, strategy=\"transactions\" decides about buckets";
        assert_eq!(advised, advice);
    }

    #[test]
    fn other_errors_are_as_they_were() {
        for said in ["LOADING Redis is loading the dataset in memory", "@user_script:99999: attempt to call", ""] {
            assert_eq!(advised(said), said);
        }
    }
}
