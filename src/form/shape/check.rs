//! The checker: a tree against its shape, everything wrong reported at once.

use super::super::codes;
use super::super::diagnostic::{Diagnostic, Diagnostics, Span, quote};
use super::super::json::{Member, Node, Number, NumberError, Value};
use super::{Field, NOTE, Need, Shape, Variant, nearest};

mod quantities;

pub use super::steps::{billionths, steps};
pub use quantities::{missing_unit, quantity};

/// Reports everything in `node` that does not fit `shape`; `path` names the node.
pub fn check(diagnostics: &mut Diagnostics, node: &Node, shape: &Shape, path: &str) {
    match (&node.value, shape) {
        // What is invalid was reported by the reader already.
        (Value::Invalid, _)
        | (Value::Bool(_), Shape::Flag)
        | (Value::Bool(_) | Value::Text(_) | Value::Number(_), Shape::Scalar) => {}
        (Value::Null, _) => null(diagnostics, node, shape, path),
        (Value::Word(word), _) => bare_word(diagnostics, node, word, shape, path),
        // Its names are known to the reader only, which checks the rest.
        (Value::Text(text), Shape::Expression(_)) if text.starts_with('=') => {}
        (_, Shape::Either(shapes)) => either(diagnostics, node, shapes, path),
        (_, Shape::Expression(shape) | Shape::Defined { shape, .. }) => {
            check(diagnostics, node, shape, path);
        }
        (_, Shape::Machine(own)) => (own.check)(diagnostics, node, path),
        (Value::Text(text), Shape::Quantity { dimension, min, max }) => {
            quantity(diagnostics, node.span, text, (*dimension, *min, *max), path);
        }
        (Value::Number(number), Shape::Quantity { dimension, .. }) => {
            missing_unit(diagnostics, node.span, number, *dimension, path);
        }
        (Value::Number(number), Shape::Count { min, max }) => {
            count(diagnostics, node.span, number, (*min, *max), path);
        }
        (Value::Number(number), Shape::Integer { min, max }) => {
            integer(diagnostics, node.span, number, (*min, *max), path);
        }
        (Value::Number(number), Shape::Ratio { min, max }) => {
            ratio(diagnostics, node.span, number, (*min, *max), path);
        }
        (Value::Text(text), Shape::Text(longest)) => {
            length_of_text(diagnostics, node.span, text, *longest, path);
        }
        (Value::Text(text), Shape::Verbatim(longest)) => {
            verbatim(diagnostics, node.span, text, *longest, path);
        }
        (Value::Text(text), Shape::Name | Shape::Path) => {
            name(diagnostics, node.span, text, path);
        }
        (Value::Text(text), Shape::Tolerance) => tolerance(diagnostics, node.span, text, path),
        (Value::Text(text), Shape::Word(words)) => {
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            word_of(diagnostics, node.span, text, &words, path);
        }
        (Value::List(elements), Shape::List { of, min, max }) => {
            list(diagnostics, node, elements, (of, *min, *max), path);
        }
        (Value::Object(members), Shape::Object(fields)) => {
            object(diagnostics, node, members, fields, None, path);
        }
        (Value::Object(members), Shape::Tagged { tag, variants }) => {
            tagged(diagnostics, node, members, tag, variants, path);
        }
        (Value::Object(members), Shape::Keyed(variants)) => {
            keyed(diagnostics, node, members, variants, path);
        }
        (Value::Object(members), Shape::Paths(of)) => {
            for member in members.iter().filter(|member| member.key != NOTE.key) {
                check(diagnostics, &member.node, of, &join(path, &member.key));
            }
        }
        _ => wrong_type(diagnostics, node, shape, path),
    }
}

/// `path` and one more key.
pub fn join(path: &str, key: &str) -> String {
    let key = quote(key);
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// A value as it stands in the file, short enough for a message.
pub fn show(node: &Node) -> String {
    match &node.value {
        Value::Text(text) => format!("the text \"{}\"", quote(text)),
        Value::Number(number) => format!("the number {number}"),
        Value::Bool(flag) => format!("the boolean {flag}"),
        Value::Null | Value::List(_) | Value::Object(_) | Value::Word(_) | Value::Invalid => {
            node.kind().to_owned()
        }
    }
}

fn null(diagnostics: &mut Diagnostics, node: &Node, shape: &Shape, path: &str) {
    let allowed = format!("{} is needed", shape.in_words());
    diagnostics.push(
        Diagnostic::error(&codes::NULL, node.span, path, "found null", allowed)
            .help("give a value, or leave the key out where it is not required"),
    );
}

fn bare_word(diagnostics: &mut Diagnostics, node: &Node, word: &str, shape: &Shape, path: &str) {
    let number = matches!(
        word.trim_start_matches(['-', '+']).to_ascii_lowercase().as_str(),
        "nan" | "infinity" | "inf"
    );
    let word = quote(word);
    let found = if number {
        format!("`{word}` is not a JSON number")
    } else {
        format!("`{word}` is a bare word")
    };
    let one = Diagnostic::error(&codes::BARE_WORD, node.span, path, found, allowed_by(shape));
    let help = match (number, word.to_ascii_lowercase().as_str()) {
        (true, _) => "write a finite number".to_owned(),
        (false, "none" | "nil" | "undefined") => "leave the key out".to_owned(),
        (false, lower @ ("true" | "false")) => format!("write `{lower}`"),
        (false, _) => format!("write `\"{word}\"`"),
    };
    diagnostics.push(one.help(help));
}

/// The values that the field takes, with their range.
fn allowed_by(shape: &Shape) -> String {
    match shape {
        Shape::Quantity { dimension, min, max } => format!(
            "{} from {} to {} is needed",
            dimension.in_words(),
            steps(*dimension, *min),
            steps(*dimension, *max)
        ),
        Shape::Count { min, max } => format!("a whole number from {min} to {max} is needed"),
        Shape::Integer { min, max } => format!("a whole number from {min} to {max} is needed"),
        Shape::Expression(shape) | Shape::Defined { shape, .. } => allowed_by(shape),
        Shape::Ratio { min, max } => {
            format!("a number from {} to {} is needed", billionths(*min), billionths(*max))
        }
        Shape::Text(_)
        | Shape::Verbatim(_)
        | Shape::Name
        | Shape::Path
        | Shape::Tolerance
        | Shape::Word(_)
        | Shape::Flag
        | Shape::Scalar
        | Shape::List { .. }
        | Shape::Object(_)
        | Shape::Tagged { .. }
        | Shape::Keyed(_)
        | Shape::Paths(_)
        | Shape::Either(_)
        | Shape::Machine(_) => format!("{} is needed", shape.in_words()),
    }
}

fn wrong_type(diagnostics: &mut Diagnostics, node: &Node, shape: &Shape, path: &str) {
    let one = Diagnostic::error(
        &codes::WRONG_TYPE,
        node.span,
        path,
        format!("found {}", show(node)),
        allowed_by(shape),
    );
    let help = match (&node.value, shape) {
        (Value::Text(text), Shape::Count { .. } | Shape::Integer { .. } | Shape::Ratio { .. })
            if text.trim().parse::<f64>().is_ok() =>
        {
            Some(format!("remove the quotes: write `{}`", quote(text.trim())))
        }
        (Value::Text(text), Shape::Flag) => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some("write `true` without quotes".to_owned()),
            "false" | "no" | "off" | "0" => Some("write `false` without quotes".to_owned()),
            _ => None,
        },
        (Value::Number(number), Shape::Flag) => match number.text() {
            "0" => Some("write `false`".to_owned()),
            _ => Some("write `true`".to_owned()),
        },
        (Value::Number(number), Shape::Tolerance) => Some(format!("write `\"{number} %\"`")),
        (_, Shape::List { .. }) => Some("put the value into brackets: `[ ... ]`".to_owned()),
        _ => None,
    };
    diagnostics.push(match help {
        Some(help) => one.help(help),
        None => one,
    });
}

/// The alternative of the value's own JSON type, or one line per alternative why not.
fn either(diagnostics: &mut Diagnostics, node: &Node, shapes: &[Shape], path: &str) {
    if let Some(shape) = shapes.iter().find(|shape| takes_type(node, shape)) {
        if let (Value::Text(text), Shape::Word(words)) = (&node.value, shape)
            && !words.iter().any(|(word, _)| word == text)
        {
            return neither_word_nor(diagnostics, node, text, shapes, path);
        }
        return check(diagnostics, node, shape, path);
    }
    // A bare number where a quantity is one of the alternatives lacks its unit.
    if let Value::Number(_) = node.value
        && let Some(shape) = shapes.iter().find(|shape| matches!(shape, Shape::Quantity { .. }))
    {
        return check(diagnostics, node, shape, path);
    }
    let reasons: Vec<String> = shapes
        .iter()
        .map(|shape| format!("not {}: it is {}", shape.in_words(), node.kind()))
        .collect();
    let allowed: Vec<String> = shapes.iter().map(Shape::in_words).collect();
    diagnostics.push(
        Diagnostic::error(
            &codes::NO_SHAPE,
            node.span,
            path,
            format!("found {}", show(node)),
            format!("{} is needed", allowed.join(", or ")),
        )
        .help(reasons.join("; ")),
    );
}

/// A text that is none of the words which one alternative takes: a number in quotes where another takes
/// numbers, or a word that is unknown.
fn neither_word_nor(
    diagnostics: &mut Diagnostics,
    node: &Node,
    text: &str,
    shapes: &[Shape],
    path: &str,
) {
    let is_number = |shape: &&Shape| {
        matches!(shape, Shape::Count { .. } | Shape::Integer { .. } | Shape::Ratio { .. })
    };
    let number = shapes.iter().find(is_number);
    if let Some(number) = number.filter(|_| text.trim().parse::<f64>().is_ok()) {
        return wrong_type(diagnostics, node, number, path);
    }
    let words =
        shapes.iter().flat_map(|shape| if let Shape::Word(words) = shape { *words } else { &[] });
    let words: Vec<&str> = words.map(|(word, _)| *word).collect();
    let mut one = unknown_word(node.span, text, &words, path);
    if let Some(number) = number {
        one.allowed = format!("{}, and {}", one.allowed, number.in_words());
    }
    diagnostics.push(one);
}

/// Whether the JSON type of `node` is that of `shape`.
pub(super) fn takes_type(node: &Node, shape: &Shape) -> bool {
    if let Shape::Defined { shape, .. } = shape {
        return takes_type(node, shape);
    }
    if let Shape::Expression(shape) = shape {
        let is_expression = node.text().is_some_and(|text| text.starts_with('='));
        return is_expression || takes_type(node, shape);
    }
    match &node.value {
        Value::Text(_) => matches!(
            shape,
            Shape::Quantity { .. }
                | Shape::Text(_)
                | Shape::Verbatim(_)
                | Shape::Name
                | Shape::Path
                | Shape::Tolerance
                | Shape::Word(_)
                | Shape::Scalar
                | Shape::Machine(_)
        ),
        Value::Number(_) => {
            matches!(
                shape,
                Shape::Count { .. } | Shape::Integer { .. } | Shape::Ratio { .. } | Shape::Scalar
            )
        }
        Value::Bool(_) => matches!(shape, Shape::Flag | Shape::Scalar),
        Value::List(_) => matches!(shape, Shape::List { .. }),
        Value::Object(_) => matches!(
            shape,
            Shape::Object(_)
                | Shape::Tagged { .. }
                | Shape::Keyed(_)
                | Shape::Paths(_)
                | Shape::Machine(_)
        ),
        Value::Null | Value::Word(_) | Value::Invalid => false,
    }
}

/// Reports a number that is not a whole one from `min` to `max`.
pub fn count(
    diagnostics: &mut Diagnostics,
    span: Span,
    number: &Number,
    (min, max): (u64, u64),
    path: &str,
) {
    let wrong = match number.whole() {
        Ok(value) if (min..=max).contains(&value) => return,
        Ok(_) => NumberError::TooLarge,
        Err(wrong) => wrong,
    };
    let range = format!("a whole number from {min} to {max} is needed");
    not_whole(diagnostics, span, number, wrong, &range, path);
}

fn integer(
    diagnostics: &mut Diagnostics,
    span: Span,
    number: &Number,
    (min, max): (i64, i64),
    path: &str,
) {
    let wrong = match number.integer() {
        Ok(value) if (min..=max).contains(&value) => return,
        Ok(_) => NumberError::TooLarge,
        Err(wrong) => wrong,
    };
    let range = format!("a whole number from {min} to {max} is needed");
    not_whole(diagnostics, span, number, wrong, &range, path);
}

/// Reports why a number is no whole one of a range.
fn not_whole(
    diagnostics: &mut Diagnostics,
    span: Span,
    number: &Number,
    wrong: NumberError,
    range: &str,
    path: &str,
) {
    let error = |code, found: String| Diagnostic::error(code, span, path, found, range);
    let one = match wrong {
        NumberError::TooLarge => error(&codes::RANGE, format!("{number} is out of range")),
        NumberError::Negative => error(&codes::RANGE, format!("{number} is negative")),
        NumberError::NegativeZero => {
            error(&codes::NEGATIVE_ZERO, "found minus zero".to_owned()).help("write `0`")
        }
        NumberError::WrittenAsFraction => {
            let one = error(&codes::NOT_WHOLE, format!("`{number}` is written as a fraction"));
            match number.scaled(0) {
                Ok(value) => one.help(format!("write `{value}`")),
                Err(_) => one,
            }
        }
        NumberError::Fraction => {
            let one = error(&codes::NOT_WHOLE, format!("{number} is not a whole number"));
            match number.floor().and_then(|below| Some((below, below.checked_add(1)?))) {
                Some((below, above)) => one.help(format!("its neighbours are {below} and {above}")),
                None => one,
            }
        }
    };
    diagnostics.push(one);
}

fn ratio(
    diagnostics: &mut Diagnostics,
    span: Span,
    number: &Number,
    (min, max): (u64, u64),
    path: &str,
) {
    let range = format!("a number from {} to {} is needed", billionths(min), billionths(max));
    let error = |code, found: String| Diagnostic::error(code, span, path, found, range.clone());
    let one = match number.scaled(9) {
        Ok(value) if (min..=max).contains(&value) => return,
        Ok(_) | Err(NumberError::TooLarge) => {
            error(&codes::RANGE, format!("{number} is out of range"))
        }
        Err(NumberError::Negative) => error(&codes::RANGE, format!("{number} is negative")),
        Err(NumberError::NegativeZero) => {
            error(&codes::NEGATIVE_ZERO, "found minus zero".to_owned()).help("write `0`")
        }
        Err(NumberError::Fraction | NumberError::WrittenAsFraction) => Diagnostic::error(
            &codes::TOO_FINE,
            span,
            path,
            format!("{number} has more than nine decimals"),
            format!("{range}, in steps of 0.000000001"),
        ),
    };
    diagnostics.push(one);
}

fn length_of_text(
    diagnostics: &mut Diagnostics,
    span: Span,
    text: &str,
    longest: usize,
    path: &str,
) {
    let length = text.chars().count();
    if length > longest || text.trim().is_empty() {
        let found = if length > longest {
            format!("a text of {length} characters")
        } else {
            "the text is empty".to_owned()
        };
        let allowed = format!("1 to {longest} characters are allowed");
        diagnostics.push(Diagnostic::error(&codes::TOO_LONG, span, path, found, allowed));
    } else if let Some(control) = text.chars().find(|c| is_control(*c)) {
        let found = format!("the text contains the control character U+{:04X}", u32::from(control));
        diagnostics.push(Diagnostic::error(
            &codes::CONTROL_CHARACTER,
            span,
            path,
            found,
            "printed characters and line ends are allowed",
        ));
    }
}

/// A text that a program gets: the system ends it at U+0000.
fn verbatim(diagnostics: &mut Diagnostics, span: Span, text: &str, longest: usize, path: &str) {
    let length = text.chars().count();
    if length > longest {
        let found = format!("a text of {length} characters");
        let allowed = format!("at most {longest} characters are allowed");
        diagnostics.push(Diagnostic::error(&codes::TOO_LONG, span, path, found, allowed));
    } else if text.contains('\0') {
        diagnostics.push(Diagnostic::error(
            &codes::CONTROL_CHARACTER,
            span,
            path,
            "the text contains the control character U+0000",
            "a program can be given all other characters",
        ));
    }
}

/// Whether a character moves or turns printed text; ends of lines are allowed.
fn is_control(character: char) -> bool {
    let turns = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (character.is_control() && character != '\n')
}

/// Whether `text` can name a file, a column or a parameter.
pub fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 200
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._/+-[]".contains(c))
        && !text.starts_with('/')
        && text.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

fn name(diagnostics: &mut Diagnostics, span: Span, text: &str, path: &str) {
    if is_name(text) {
        return;
    }
    let found = if text.is_empty() {
        "the name is empty".to_owned()
    } else {
        format!("`{}` is not a name", quote(text))
    };
    diagnostics.push(Diagnostic::error(
        &codes::NAME,
        span,
        path,
        found,
        "1 to 200 letters, digits and . _ / + - are allowed, without a path upwards",
    ));
}

fn tolerance(diagnostics: &mut Diagnostics, span: Span, text: &str, path: &str) {
    if super::read::parse_tolerance(text).is_some() {
        return;
    }
    diagnostics.push(
        Diagnostic::error(
            &codes::RANGE,
            span,
            path,
            format!("`{}` is not a tolerance", quote(text)),
            "\"0 %\" to \"100 %\", or a factor from \"x1\" to \"x1000\", is needed",
        )
        .help("write for example `\"10 %\"`"),
    );
}

fn word_of(diagnostics: &mut Diagnostics, span: Span, text: &str, words: &[&str], path: &str) {
    if !words.contains(&text) {
        diagnostics.push(unknown_word(span, text, words, path));
    }
}

fn unknown_word(span: Span, text: &str, words: &[&str], path: &str) -> Diagnostic {
    let one = Diagnostic::error(
        &codes::UNKNOWN_WORD,
        span,
        path,
        format!("`{}` is unknown here", quote(text)),
        format!("allowed are {}", words.join(", ")),
    );
    match nearest(text, words.iter().copied()) {
        Some(near) => one.help(format!("did you mean `{near}`?")),
        None => one,
    }
}

fn list(
    diagnostics: &mut Diagnostics,
    node: &Node,
    elements: &[Node],
    (of, min, max): (&Shape, usize, usize),
    path: &str,
) {
    if !(min..=max).contains(&elements.len()) {
        let allowed = if min == max {
            format!("exactly {min} are needed")
        } else if max == usize::MAX {
            format!("at least {min} are needed")
        } else {
            format!("{min} to {max} are needed")
        };
        diagnostics.push(Diagnostic::error(
            &codes::LENGTH,
            node.span,
            path,
            format!("the list has {} elements", elements.len()),
            allowed,
        ));
    }
    for (index, element) in elements.iter().enumerate() {
        check(diagnostics, element, of, &format!("{path}[{index}]"));
    }
}

/// Checks the members of an object; `tag` is a key that was looked at before.
fn object(
    diagnostics: &mut Diagnostics,
    node: &Node,
    members: &[Member],
    fields: &[Field],
    tag: Option<&str>,
    path: &str,
) {
    for member in members {
        if Some(member.key.as_str()) == tag {
            continue;
        }
        let field = fields.iter().find(|field| field.key == member.key);
        let field = field.or_else(|| (member.key == NOTE.key).then_some(&NOTE));
        if let Some(field) = field {
            let (mark, at) = (diagnostics.mark(), join(path, &member.key));
            check(diagnostics, &member.node, field.shape, &at);
            if let Some(word) = member.node.text().filter(|_| diagnostics.mark() > mark)
                && let Some(other) = fields.iter().find(|other| takes_instead(field, other, word))
            {
                let text = format!("`{word}` is a value of `{}`", join(path, other.key));
                diagnostics.explain(mark, &text);
            }
            diagnostics.explain_field(mark, &at, field.doc);
        } else {
            let keys = tag.into_iter().chain(fields.iter().map(|field| field.key));
            unknown_key(diagnostics, member, keys.collect(), path);
        }
    }
    for field in fields {
        if let Need::Required(example) = field.need
            && !members.iter().any(|member| member.key == field.key)
        {
            missing_key(diagnostics, node, field, example, path);
        }
    }
}

/// Whether a field takes a word that was given to one of nearly the same name.
pub(super) fn takes_instead(given: &Field, other: &Field, word: &str) -> bool {
    let is_near = other.key.starts_with(given.key) || given.key.starts_with(other.key);
    is_near && other.key != given.key && other.shape.takes_word(word)
}

/// Reports a key that is not one of `keys`; shared with the reader of models.
pub fn unknown_key(
    diagnostics: &mut Diagnostics,
    member: &Member,
    mut keys: Vec<&str>,
    path: &str,
) {
    // What is only counted needs no words.
    if diagnostics.is_full() {
        let at = join(path, &member.key);
        return diagnostics.push(Diagnostic::error(
            &codes::UNKNOWN_KEY,
            member.key_span,
            at,
            "",
            "",
        ));
    }
    if !keys.contains(&NOTE.key) {
        keys.push(NOTE.key);
    }
    let one = Diagnostic::error(
        &codes::UNKNOWN_KEY,
        member.key_span,
        join(path, &member.key),
        format!("the key `{}` is unknown", quote(&member.key)),
        format!("allowed are {}", keys.join(", ")),
    );
    diagnostics.push(match nearest(&member.key, keys) {
        Some(near) => one.help(format!("did you mean `{near}`?")),
        None => one,
    });
}

/// Reports a key that is not there, at the object that lacks it.
pub fn missing_key(
    diagnostics: &mut Diagnostics,
    node: &Node,
    field: &Field,
    example: &str,
    path: &str,
) {
    let open = Span { end: node.span.start + 1, ..node.span };
    let (code, found) = if path.is_empty() && field.key == "schema" {
        (&codes::SCHEMA_MISSING, "the key `schema` is missing".to_owned())
    } else {
        (&codes::MISSING_KEY, format!("the key `{}` is missing", field.key))
    };
    diagnostics.push(
        Diagnostic::error(
            code,
            open,
            join(path, field.key),
            found,
            format!("{} is needed", field.shape.in_words()),
        )
        .help(format!("write `\"{}\": {example}`", field.key)),
    );
}

fn tagged(
    diagnostics: &mut Diagnostics,
    node: &Node,
    members: &[Member],
    tag: &'static str,
    variants: &[Variant],
    path: &str,
) {
    let names: Vec<&str> = variants.iter().map(|variant| variant.name).collect();
    let Some(kind) = members.iter().find(|member| member.key == tag) else {
        let open = Span { end: node.span.start + 1, ..node.span };
        diagnostics.push(
            Diagnostic::error(
                &codes::MISSING_KEY,
                open,
                join(path, tag),
                format!("the key `{tag}` is missing"),
                format!("one of {} is needed", names.join(", ")),
            )
            .help(format!("write `\"{tag}\": \"{}\"`", names[0])),
        );
        return;
    };
    let at = join(path, tag);
    let Value::Text(text) = &kind.node.value else {
        return check(diagnostics, &kind.node, &Shape::Name, &at);
    };
    match variants.iter().find(|variant| variant.name == text) {
        Some(variant) => object(diagnostics, node, members, variant.fields, Some(tag), path),
        None => word_of(diagnostics, kind.node.span, text, &names, &at),
    }
}

fn keyed(
    diagnostics: &mut Diagnostics,
    node: &Node,
    members: &[Member],
    variants: &[Variant],
    path: &str,
) {
    let names: Vec<&str> = variants.iter().map(|variant| variant.name).collect();
    let present: Vec<&Member> =
        members.iter().filter(|member| names.contains(&member.key.as_str())).collect();
    match present.as_slice() {
        [one] => {
            let variant = variants.iter().find(|variant| variant.name == one.key);
            let fields = variant.map_or(&[][..], |variant| variant.fields);
            object(diagnostics, node, members, fields, None, path);
        }
        [] => {
            let open = Span { end: node.span.start + 1, ..node.span };
            let found = format!("none of the keys {} is there", names.join(", "));
            let one = Diagnostic::error(&codes::MISSING_KEY, open, path, found, "one is needed");
            let near = members.iter().find_map(|member| {
                Some((member.key.as_str(), nearest(&member.key, names.iter().copied())?))
            });
            diagnostics.push(match near {
                Some((key, near)) => one.help(format!("is `{}` meant to be `{near}`?", quote(key))),
                None => one,
            });
        }
        [first, second, ..] => diagnostics.push(
            Diagnostic::error(
                &codes::CONTRADICTION,
                second.key_span,
                join(path, &second.key),
                format!("`{}` and `{}` exclude each other", first.key, second.key),
                format!("exactly one of {} is allowed", names.join(", ")),
            )
            .related(first.key_span, "the other one is here"),
        ),
    }
}
