//! The front page as packages carry it: registries show it where no link of its own leads anywhere.

const PAGES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/");
const PICTURES: &str = "https://raw.githubusercontent.com/tidegate/tidegate/main/";

/// The page with links that lead to the repository.
pub(crate) fn published(page: &str) -> String {
    let mut is_code = false;
    let lines = page.lines().map(|line| {
        is_code ^= line.starts_with("```");
        if is_code { line.to_owned() } else { absolute(line) }
    });
    lines.map(|line| line + "\n").collect()
}

/// A line whose links have all their scheme.
fn absolute(line: &str) -> String {
    let mut parts = line.split("](");
    let mut made = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let target = part.split(')').next().unwrap_or_default();
        made.push_str("](");
        if !target.contains("://") && !target.starts_with('#') {
            let is_picture = target.rsplit_once('.').is_some_and(|(_, suffix)| suffix == "svg" || suffix == "png");
            made.push_str(if is_picture { PICTURES } else { PAGES });
        }
        made.push_str(part);
    }
    made
}
