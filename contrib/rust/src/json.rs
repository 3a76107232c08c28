//! The part of JSON that specs and verdicts use. Numbers are whole.

use std::fmt;

/// A JSON value. The members of an object keep their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(i64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The member with this key; Null: there is none, or this is not an object.
    pub fn get(&self, key: &str) -> &Json {
        match self {
            Json::Object(members) => members.iter().find(|(name, _)| name == key).map_or(&Json::Null, |(_, value)| value),
            _ => &Json::Null,
        }
    }

    /// Puts the member into an object, in place of a member of the same name.
    pub fn set(&mut self, key: &str, value: Json) {
        if let Json::Object(members) = self {
            members.retain(|(name, _)| name != key);
            members.push((key.to_string(), value));
        }
    }

    /// "": not a string.
    pub fn text(&self) -> &str {
        match self {
            Json::Text(text) => text,
            _ => "",
        }
    }

    /// 0: not a number from 0 on.
    pub fn number(&self) -> u64 {
        match self {
            Json::Number(number) if *number > 0 => *number as u64,
            _ => 0,
        }
    }

    /// None: not one JSON value, or a number that is not whole.
    pub fn parse(text: &str) -> Option<Json> {
        let mut rest = Rest { bytes: text.as_bytes(), at: 0 };
        let value = rest.value(0)?;
        rest.space();
        if rest.at == rest.bytes.len() { Some(value) } else { None }
    }
}

fn quote(out: &mut fmt::Formatter, text: &str) -> fmt::Result {
    out.write_str("\"")?;
    for character in text.chars() {
        match character {
            '"' | '\\' => write!(out, "\\{}", character)?,
            '\0'..='\x1f' => write!(out, "\\u{:04x}", character as u32)?,
            _ => write!(out, "{}", character)?,
        }
    }
    out.write_str("\"")
}

impl fmt::Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Json::Null => out.write_str("null"),
            Json::Bool(value) => write!(out, "{}", value),
            Json::Number(value) => write!(out, "{}", value),
            Json::Text(text) => quote(out, text),
            Json::List(values) => {
                out.write_str("[")?;
                for (i, value) in values.iter().enumerate() {
                    write!(out, "{}{}", if i > 0 { "," } else { "" }, value)?;
                }
                out.write_str("]")
            }
            Json::Object(members) => {
                out.write_str("{")?;
                for (i, (key, value)) in members.iter().enumerate() {
                    out.write_str(if i > 0 { "," } else { "" })?;
                    quote(out, key)?;
                    write!(out, ":{}", value)?;
                }
                out.write_str("}")
            }
        }
    }
}

const DEEPEST: u32 = 64;

struct Rest<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Rest<'_> {
    fn space(&mut self) {
        while self.at < self.bytes.len() && b" \t\r\n".contains(&self.bytes[self.at]) {
            self.at += 1;
        }
    }

    /// Skips white space, then takes this text if it is next.
    fn takes(&mut self, text: &str) -> bool {
        self.space();
        let is_next = self.bytes[self.at..].starts_with(text.as_bytes());
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    fn value(&mut self, depth: u32) -> Option<Json> {
        if depth > DEEPEST {
            None
        } else if self.takes("{") {
            self.object(depth)
        } else if self.takes("[") {
            self.list(depth)
        } else if self.takes("\"") {
            self.string().map(Json::Text)
        } else if self.takes("null") {
            Some(Json::Null)
        } else if self.takes("true") {
            Some(Json::Bool(true))
        } else if self.takes("false") {
            Some(Json::Bool(false))
        } else {
            self.number()
        }
    }

    fn object(&mut self, depth: u32) -> Option<Json> {
        let mut members = Vec::new();
        while !self.takes("}") {
            if (!members.is_empty() && !self.takes(",")) || !self.takes("\"") {
                return None;
            }
            let key = self.string()?;
            if !self.takes(":") {
                return None;
            }
            members.push((key, self.value(depth + 1)?));
        }
        Some(Json::Object(members))
    }

    fn list(&mut self, depth: u32) -> Option<Json> {
        let mut values = Vec::new();
        while !self.takes("]") {
            if !values.is_empty() && !self.takes(",") {
                return None;
            }
            values.push(self.value(depth + 1)?);
        }
        Some(Json::List(values))
    }

    fn number(&mut self) -> Option<Json> {
        let begun = self.at;
        while self.at < self.bytes.len() && (self.bytes[self.at] == b'-' || self.bytes[self.at].is_ascii_digit()) {
            self.at += 1;
        }
        std::str::from_utf8(&self.bytes[begun..self.at]).ok()?.parse().ok().map(Json::Number)
    }

    /// Reads four hexadecimal digits.
    fn unit(&mut self) -> Option<u32> {
        let digits = self.bytes.get(self.at..self.at + 4)?;
        self.at += 4;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    }

    /// Reads what follows \u: one UTF-16 unit, or two units of a surrogate pair.
    fn escaped(&mut self) -> Option<char> {
        let first = self.unit()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        if !self.bytes[self.at..].starts_with(b"\\u") {
            return None;
        }
        self.at += 2;
        let second = self.unit()?.checked_sub(0xdc00)?;
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + second)
    }

    /// Reads the rest of a string, after the first quote.
    fn string(&mut self) -> Option<String> {
        let mut text = Vec::new();
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            if byte == b'"' {
                return String::from_utf8(text).ok();
            }
            if byte != b'\\' {
                text.push(byte);
                continue;
            }
            let escape = *self.bytes.get(self.at)?;
            self.at += 1;
            let character = match escape {
                b'n' => '\n',
                b't' => '\t',
                b'r' => '\r',
                b'b' => '\x08',
                b'f' => '\x0c',
                b'u' => self.escaped()?,
                b'"' | b'\\' | b'/' => escape as char,
                _ => return None,
            };
            text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}
