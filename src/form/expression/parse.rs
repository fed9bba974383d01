//! The parser of expressions: operator precedence climbing, which writes steps as it goes.

use std::ops::Range;

use super::{Binary, DEPTH, Instruction, LONGEST, Type, Variables, Wrong, with_unit};

type Steps = Vec<(Instruction, Range<u16>)>;

/// Reads a whole text.
pub(super) fn parse(text: &str, variables: &dyn Variables) -> Result<(Steps, Type), Wrong> {
    if text.len() > LONGEST {
        let found = format!("an expression of {} bytes", text.len());
        let allowed = format!("at most {LONGEST} are allowed");
        return Err(Wrong { at: 0..text.len(), found, allowed });
    }
    let mut parser =
        Parser { text, variables, at: 0, next: (Token::End, 0..0), steps: Vec::new(), nested: 0 };
    parser.advance()?;
    let of = parser.ternary()?;
    if parser.next.0 != Token::End {
        return Err(parser.unexpected("an operator, or the end of the expression"));
    }
    parser.check_depth()?;
    Ok((parser.steps, of))
}

#[derive(Clone, Debug, PartialEq)]
enum Token<'a> {
    /// A literal with its type.
    Literal(i64, Type),
    Name(&'a str),
    /// An operator, a bracket or a comma.
    Sign(&'static str),
    End,
}

/// Signs, the longer ones first where one begins another.
const SIGNS: [&str; 20] = [
    "<=", ">=", "==", "!=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", "(", ")",
    ",", "=",
];

/// Operators of two values that are no jumps, from the loosest to the tightest.
const LEVELS: [&[(&str, Binary)]; 3] = [
    &[
        ("<=", Binary::LessOrEqual),
        (">=", Binary::GreaterOrEqual),
        ("==", Binary::Equal),
        ("!=", Binary::NotEqual),
        ("<", Binary::Less),
        (">", Binary::Greater),
    ],
    &[("+", Binary::Add), ("-", Binary::Subtract)],
    &[("*", Binary::Multiply), ("/", Binary::Divide), ("%", Binary::Remainder)],
];

/// Brackets, signs and choices inside each other.
const NESTED: usize = 32;

struct Parser<'a> {
    text: &'a str,
    variables: &'a dyn Variables,
    /// Where the token after `next` begins.
    at: usize,
    next: (Token<'a>, Range<usize>),
    steps: Steps,
    nested: usize,
}

impl<'a> Parser<'a> {
    fn advance(&mut self) -> Result<(Token<'a>, Range<usize>), Wrong> {
        let rest = &self.text[self.at..];
        let start = self.at + rest.len() - rest.trim_start().len();
        let (token, length) = self.token(start)?;
        self.at = start + length;
        Ok(std::mem::replace(&mut self.next, (token, start..start + length)))
    }

    /// The token at `start`, and its length.
    fn token(&self, start: usize) -> Result<(Token<'a>, usize), Wrong> {
        let rest = &self.text[start..];
        let Some(first) = rest.chars().next() else { return Ok((Token::End, 0)) };
        let run = |of: fn(char) -> bool| rest.find(|one| !of(one)).unwrap_or(rest.len());
        if first.is_ascii_digit() {
            return self.literal(start);
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let length = run(|one| one.is_ascii_alphanumeric() || one == '_');
            return Ok((Token::Name(&rest[..length]), length));
        }
        match SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            Some(sign) => Ok((Token::Sign(sign), sign.len())),
            None => Err(Wrong {
                at: start..start + first.len_utf8(),
                found: format!("the character `{}`", first.escape_default()),
                allowed: "numbers, names, operators and brackets are known".to_owned(),
            }),
        }
    }

    /// A number, with the unit that follows it.
    fn literal(&self, start: usize) -> Result<(Token<'a>, usize), Wrong> {
        let rest = &self.text[start..];
        let end = |from: usize, of: fn(char) -> bool| {
            from + rest[from..].find(|one| !of(one)).unwrap_or(rest.len() - from)
        };
        let digits = end(0, |one| one.is_ascii_digit() || one == '.');
        let unit = end(digits, char::is_whitespace);
        let after = end(unit, |one| one.is_ascii_alphabetic());
        if after > unit {
            let literal = with_unit(&rest[..after]);
            let literal = literal.map(|(value, of)| (Token::Literal(value, of), after));
            return literal.ok_or_else(|| Wrong {
                at: start..start + after,
                found: format!("`{}`", &rest[..after]),
                allowed: "units are those of bytes (B, KiB, ...) and of times (ns, us, ...)"
                    .to_owned(),
            });
        }
        let number = rest[..digits].parse().map_err(|_| Wrong {
            at: start..start + digits,
            found: format!("the number {}", &rest[..digits]),
            allowed: format!("a whole number of at most {} is needed", i64::MAX),
        })?;
        Ok((Token::Literal(number, Type::Integer), digits))
    }

    fn unexpected(&self, allowed: &str) -> Wrong {
        let (token, at) = &self.next;
        let found = match token {
            Token::End => "the end of the expression".to_owned(),
            Token::Literal(..) | Token::Name(_) | Token::Sign(_) => {
                format!("`{}`", &self.text[at.clone()])
            }
        };
        Wrong { at: at.clone(), found, allowed: format!("{allowed} is needed") }
    }

    /// Takes `sign`, if it is next.
    fn takes(&mut self, sign: &str) -> Result<Option<Range<usize>>, Wrong> {
        if matches!(self.next.0, Token::Sign(next) if next == sign) {
            return Ok(Some(self.advance()?.1));
        }
        Ok(None)
    }

    fn needs(&mut self, sign: &str) -> Result<(), Wrong> {
        let taken = self.takes(sign)?;
        taken.map(|_| ()).ok_or_else(|| self.unexpected(&format!("`{sign}`")))
    }

    fn push(&mut self, step: Instruction, at: &Range<usize>) {
        let short = |place| u16::try_from(place).expect("a text has at most 1,000 bytes");
        self.steps.push((step, short(at.start)..short(at.end)));
    }

    /// The number that the next step will have.
    fn here(&self) -> u16 {
        u16::try_from(self.steps.len()).expect("a byte of the text gives two steps at most")
    }

    /// Lets the jump at step `jump` go to the next step.
    fn land(&mut self, jump: u16) {
        let here = self.here();
        if let Instruction::Unless(to) | Instruction::Jump(to) =
            &mut self.steps[usize::from(jump)].0
        {
            *to = here;
        }
    }

    /// Refuses the operand from `from` to the next token, where it has another type.
    fn expect(&self, found: Type, needed: Type, from: usize) -> Result<(), Wrong> {
        self.expect_between(found, needed, from..self.next.1.start)
    }

    fn expect_between(&self, found: Type, needed: Type, at: Range<usize>) -> Result<(), Wrong> {
        if found == needed {
            return Ok(());
        }
        let text = self.text[at.clone()].trim_end();
        let at = at.start..at.start + text.len();
        let found = format!("`{text}` is {}", found.in_words());
        Err(Wrong { at, found, allowed: format!("{} is needed", needed.in_words()) })
    }

    /// Enters one more level of brackets, signs or choices.
    fn nest(&mut self) -> Result<(), Wrong> {
        self.nested += 1;
        if self.nested <= NESTED {
            return Ok(());
        }
        let found = "an expression that is nested too deeply".to_owned();
        let allowed = format!("at most {NESTED} brackets, signs and choices stand in each other");
        Err(Wrong { at: self.next.1.clone(), found, allowed })
    }

    /// `a ? b : c`, or what binds tighter.
    fn ternary(&mut self) -> Result<Type, Wrong> {
        let from = self.next.1.start;
        self.nest()?;
        let mut of = self.either()?;
        if let Some(sign) = self.text_of_question(of, from)? {
            let unless = self.here();
            self.push(Instruction::Unless(0), &sign);
            of = self.ternary()?;
            let jump = self.here();
            self.push(Instruction::Jump(0), &sign);
            self.land(unless);
            self.needs(":")?;
            let second = self.next.1.start;
            let other = self.ternary()?;
            self.expect(other, of, second)?;
            self.land(jump);
        }
        self.nested -= 1;
        Ok(of)
    }

    /// Takes a question mark behind a condition.
    fn text_of_question(&mut self, of: Type, from: usize) -> Result<Option<Range<usize>>, Wrong> {
        if self.next.0 == Token::Sign("?") {
            self.expect(of, Type::Truth, from)?;
        }
        self.takes("?")
    }

    /// `a || b`: where `a` is true, `b` is not evaluated.
    fn either(&mut self) -> Result<Type, Wrong> {
        let from = self.next.1.start;
        let of = self.both()?;
        while self.next.0 == Token::Sign("||") {
            self.expect(of, Type::Truth, from)?;
            let (_, sign) = self.advance()?;
            let unless = self.here();
            self.push(Instruction::Unless(0), &sign);
            self.push(Instruction::Push(1), &sign);
            let jump = self.here();
            self.push(Instruction::Jump(0), &sign);
            self.land(unless);
            let second = self.next.1.start;
            let other = self.both()?;
            self.expect(other, Type::Truth, second)?;
            self.land(jump);
        }
        Ok(of)
    }

    /// `a && b`: where `a` is false, `b` is not evaluated.
    fn both(&mut self) -> Result<Type, Wrong> {
        let from = self.next.1.start;
        let of = self.binary(0)?;
        while self.next.0 == Token::Sign("&&") {
            self.expect(of, Type::Truth, from)?;
            let (_, sign) = self.advance()?;
            let unless = self.here();
            self.push(Instruction::Unless(0), &sign);
            let second = self.next.1.start;
            let other = self.binary(0)?;
            self.expect(other, Type::Truth, second)?;
            let jump = self.here();
            self.push(Instruction::Jump(0), &sign);
            self.land(unless);
            self.push(Instruction::Push(0), &sign);
            self.land(jump);
        }
        Ok(of)
    }

    /// Operators of one level of [`LEVELS`] and tighter ones; comparisons stand alone.
    fn binary(&mut self, level: usize) -> Result<Type, Wrong> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let from = self.next.1.start;
        let mut of = self.binary(level + 1)?;
        loop {
            let Token::Sign(sign) = self.next.0 else { return Ok(of) };
            let Some((_, binary)) = operators.iter().find(|(name, _)| *name == sign) else {
                return Ok(of);
            };
            let (_, at) = self.advance()?;
            let second = self.next.1.start;
            let other = self.binary(level + 1)?;
            of = self.result(*binary, (of, from..at.start), (other, second), &at)?;
            self.push(Instruction::Binary(*binary), &at);
            if level == 0 {
                return Ok(of);
            }
        }
    }

    /// The type of `left binary right`, with the place of the left side and the beginning of the right one.
    fn result(
        &self,
        binary: Binary,
        left: (Type, Range<usize>),
        right: (Type, usize),
        sign: &Range<usize>,
    ) -> Result<Type, Wrong> {
        use Type::{Integer, Time, Truth};
        let same = self.expect(right.0, left.0, right.1);
        match binary {
            Binary::Equal | Binary::NotEqual => same.map(|()| Truth),
            _ if left.0 == Truth => self.expect_between(Truth, Integer, left.1).map(|()| Truth),
            _ if right.0 == Truth => self.expect(Truth, left.0, right.1).map(|()| Truth),
            Binary::Less | Binary::LessOrEqual | Binary::Greater | Binary::GreaterOrEqual => {
                same.map(|()| Truth)
            }
            Binary::Add | Binary::Subtract | Binary::Least | Binary::Greatest => {
                same.map(|()| left.0)
            }
            Binary::Multiply => match (left.0, right.0) {
                (Time, Time) => {
                    let found = "a time multiplied by a time".to_owned();
                    let allowed = "one side is a whole number".to_owned();
                    Err(Wrong { at: sign.clone(), found, allowed })
                }
                (Time, _) | (_, Time) => Ok(Time),
                _ => Ok(Integer),
            },
            Binary::Divide if (left.0, right.0) == (Time, Time) => Ok(Integer),
            Binary::Divide => self.expect(right.0, Integer, right.1).map(|()| left.0),
            Binary::Remainder => same.map(|()| left.0),
        }
    }

    fn unary(&mut self) -> Result<Type, Wrong> {
        let (step, needed) = match self.next.0 {
            Token::Sign("-") => (Instruction::Negate, None),
            Token::Sign("!") => (Instruction::Not, Some(Type::Truth)),
            Token::Literal(..) | Token::Name(_) | Token::Sign(_) | Token::End => {
                return self.primary();
            }
        };
        self.nest()?;
        let (_, sign) = self.advance()?;
        let from = self.next.1.start;
        let of = self.unary()?;
        match needed {
            Some(needed) => self.expect(of, needed, from)?,
            None if of == Type::Truth => self.expect(of, Type::Integer, from)?,
            None => {}
        }
        self.push(step, &sign);
        self.nested -= 1;
        Ok(of)
    }

    fn primary(&mut self) -> Result<Type, Wrong> {
        match self.next.0.clone() {
            Token::Literal(value, of) => {
                let (_, at) = self.advance()?;
                self.push(Instruction::Push(value), &at);
                Ok(of)
            }
            Token::Name(name) => {
                let (_, at) = self.advance()?;
                if self.takes("(")?.is_some() {
                    return self.function(name, &at);
                }
                self.variable(name, &at)
            }
            Token::Sign("(") => {
                self.advance()?;
                let of = self.ternary()?;
                self.needs(")")?;
                Ok(of)
            }
            Token::Sign(_) | Token::End => Err(self.unexpected("a number, a name or `(`")),
        }
    }

    fn variable(&mut self, name: &str, at: &Range<usize>) -> Result<Type, Wrong> {
        if let "true" | "false" = name {
            self.push(Instruction::Push(i64::from(name == "true")), at);
            return Ok(Type::Truth);
        }
        let Some((slot, of)) = self.variables.find(name) else {
            let mut names = self.variables.names();
            names.retain(|name| !name.is_empty());
            let allowed = format!("known here are {}", names.join(", "));
            return Err(Wrong { at: at.clone(), found: format!("the name `{name}`"), allowed });
        };
        self.push(Instruction::Load(u16::try_from(slot).expect("programs have few variables")), at);
        Ok(of)
    }

    fn function(&mut self, name: &str, at: &Range<usize>) -> Result<Type, Wrong> {
        let from = self.next.1.start;
        let binary = match name {
            "min" => Some(Binary::Least),
            "max" => Some(Binary::Greatest),
            "abs" => None,
            _ => {
                let allowed = "functions are min, max and abs".to_owned();
                return Err(Wrong {
                    at: at.clone(),
                    found: format!("the function `{name}`"),
                    allowed,
                });
            }
        };
        let mut of = self.ternary()?;
        if let Some(binary) = binary {
            let comma = self.next.1.start;
            self.needs(",")?;
            let second = self.next.1.start;
            let other = self.ternary()?;
            of = self.result(binary, (of, from..comma), (other, second), at)?;
            self.push(Instruction::Binary(binary), at);
        } else {
            if of == Type::Truth {
                self.expect(of, Type::Integer, from)?;
            }
            self.push(Instruction::Absolute, at);
        }
        self.needs(")")?;
        Ok(of)
    }

    /// Refuses an expression that needs more values at once than an evaluation has room for.
    fn check_depth(&self) -> Result<(), Wrong> {
        // Each way to a step leaves the same number of values, but for the jump over the second choice.
        let mut depth = 0_usize;
        let mut deepest = 0;
        for (step, _) in &self.steps {
            match step {
                Instruction::Push(_) | Instruction::Load(_) => depth += 1,
                Instruction::Binary(_) | Instruction::Unless(_) | Instruction::Jump(_) => {
                    depth -= 1;
                }
                Instruction::Negate | Instruction::Not | Instruction::Absolute => {}
            }
            deepest = deepest.max(depth);
        }
        if deepest <= DEPTH {
            return Ok(());
        }
        let found = format!("an expression of {deepest} values at once");
        Err(Wrong { at: 0..self.text.len(), found, allowed: format!("at most {DEPTH} are held") })
    }
}
