//! A JSON text as a tree of nodes.

use super::number::Number;
use crate::diagnostic::Span;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// From its first to its last character.
    pub span: Span,
}

/// A JSON value.
#[derive(Clone, Debug)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as written.
    Number(Number),
    /// A text, escapes resolved.
    Text(String),
    /// An array.
    List(Vec<Node>),
    /// An object.
    Object(Vec<Member>),
    /// A bare word that JSON does not know, such as `NaN`; not yet reported.
    Word(String),
    /// Something that was reported already.
    Invalid,
}

/// One member of an object.
#[derive(Clone, Debug)]
pub struct Member {
    /// The key, escapes resolved.
    pub key: String,
    /// Where the key stands, quotes included.
    pub key_span: Span,
    /// The value.
    pub node: Node,
}

impl Node {
    /// The members, if this is an object.
    pub fn members(&self) -> Option<&[Member]> {
        if let Value::Object(members) = &self.value { Some(members) } else { None }
    }

    /// The elements, if this is an array.
    pub fn elements(&self) -> Option<&[Self]> {
        if let Value::List(elements) = &self.value { Some(elements) } else { None }
    }

    /// The number, if this is one.
    pub fn number(&self) -> Option<&Number> {
        if let Value::Number(number) = &self.value { Some(number) } else { None }
    }

    /// The text, if this is one.
    pub fn text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    /// The member called `key`, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.members()?.iter().find(|member| member.key == key).map(|member| &member.node)
    }

    /// As [`Node::get`], for change.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        let Value::Object(members) = &mut self.value else { return None };
        members.iter_mut().find(|member| member.key == key).map(|member| &mut member.node)
    }

    /// The kind of the value, with an article.
    pub const fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Object(_) => "an object",
            Value::Word(_) => "a bare word",
            Value::Invalid => "an invalid value",
        }
    }
}

/// Two nodes are equal when they say the same, wherever they stand.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Number(a), Value::Number(b)) => a == b,
            (Value::Text(a), Value::Text(b)) | (Value::Word(a), Value::Word(b)) => a == b,
            (Value::List(a), Value::List(b)) => a == b,
            (Value::Object(a), Value::Object(b)) => {
                a.len() == b.len()
                    && a.iter().zip(b).all(|(a, b)| a.key == b.key && a.node == b.node)
            }
            _ => false,
        }
    }
}
