//! A class of the Python stub: its documentation, and the signature and documentation of each method.

/// One class.
pub(crate) struct Class {
    pub(crate) documentation: Vec<String>,
    pub(crate) methods: Vec<Method>,
}

/// A public method or property.
pub(crate) struct Method {
    pub(crate) name: String,
    pub(crate) is_property: bool,
    /// One signature, or several overloads.
    pub(crate) signatures: Vec<Signature>,
    pub(crate) documentation: Vec<String>,
}

#[derive(Clone)]
pub(crate) struct Signature {
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) returns: String,
}

/// A parameter; one without an annotation is the `*` before those that are keywords only.
#[derive(Clone)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) annotation: String,
    pub(crate) default: Option<String>,
}

impl Method {
    /// The signature that all overloads fit: what one of them may leave out is optional, and what they take differently
    /// is of any type.
    pub(crate) fn common(&self) -> Signature {
        let Some((last, others)) = self.signatures.split_last() else {
            return Signature { parameters: Vec::new(), returns: String::new() };
        };
        let mut common = last.clone();
        for parameter in &mut common.parameters {
            for other in others.iter().flat_map(|other| &other.parameters).filter(|other| other.name == parameter.name)
            {
                parameter.default = parameter.default.take().or_else(|| other.default.clone());
                if other.annotation != parameter.annotation {
                    "Any".clone_into(&mut parameter.annotation);
                }
            }
        }
        common
    }
}

impl Parameter {
    pub(crate) fn is_star(&self) -> bool {
        self.annotation.is_empty()
    }

    /// As Python's code has it.
    pub(crate) fn code(&self) -> String {
        match (self.is_star(), &self.default) {
            (true, _) => self.name.clone(),
            (false, None) => format!("{}: {}", self.name, self.annotation),
            (false, Some(default)) => format!("{}: {} = {default}", self.name, self.annotation),
        }
    }
}

/// The class of this name.
pub(crate) fn class(stub: &str, name: &str) -> Option<Class> {
    let (_, rest) = stub.split_once(&format!("\nclass {name}:\n"))?;
    let mut lines = rest.lines().take_while(|line| line.is_empty() || line.starts_with(' ')).peekable();
    let mut class = Class { documentation: documentation(&mut lines), methods: Vec::new() };
    let (mut is_property, mut is_overload) = (false, false);
    while let Some(line) = lines.next() {
        let line = line.trim();
        match line {
            "@property" => is_property = true,
            "@overload" => is_overload = true,
            _ => {}
        }
        let Some(mut header) = line.strip_prefix("def ").map(str::to_owned) else { continue };
        while !header.ends_with(':') && !header.ends_with("...") {
            header.push(' ');
            header.push_str(lines.next()?.trim());
        }
        let (name, rest) = header.split_once('(')?;
        let (parameters, returns) = rest.rsplit_once(") -> ")?;
        let signature = Signature {
            parameters: split(parameters).iter().filter(|text| *text != "self").map(|text| parameter(text)).collect(),
            returns: returns.trim_end_matches("...").trim().trim_end_matches(':').to_owned(),
        };
        let documentation = documentation(&mut lines);
        match class.methods.last_mut() {
            Some(method) if is_overload && method.name == name => {
                method.signatures.push(signature);
                method.documentation = documentation;
            }
            _ if name.starts_with('_') => {}
            _ => {
                let (name, signatures) = (name.to_owned(), vec![signature]);
                class.methods.push(Method { name, is_property, signatures, documentation });
            }
        }
        (is_property, is_overload) = (false, false);
    }
    Some(class)
}

/// The docstring that begins here, if one does, without its indent.
fn documentation<'a>(lines: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> Vec<String> {
    let Some(line) = lines.next_if(|line| line.trim().starts_with("\"\"\"")) else { return Vec::new() };
    let indent = line.len() - line.trim_start().len();
    let first = &line.trim_start()[3..];
    if let Some(only) = first.strip_suffix("\"\"\"") {
        return vec![only.to_owned()];
    }
    let mut text = vec![first.to_owned()];
    for line in lines.take_while(|line| line.trim() != "\"\"\"") {
        text.push(line.get(indent..).unwrap_or_default().to_owned());
    }
    text
}

/// The parts between the commas that stand in no brackets.
fn split(list: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0_u32);
    for letter in list.chars() {
        match letter {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            _ => {}
        }
        match parts.last_mut() {
            Some(part) if letter != ',' || depth > 0 => part.push(letter),
            _ => parts.push(String::new()),
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

fn parameter(text: &str) -> Parameter {
    let (rest, default) = match text.split_once(" = ") {
        Some((rest, default)) => (rest, Some(default.to_owned())),
        None => (text, None),
    };
    let (name, annotation) = rest.split_once(": ").unwrap_or((rest, ""));
    Parameter { name: name.to_owned(), annotation: annotation.to_owned(), default }
}
