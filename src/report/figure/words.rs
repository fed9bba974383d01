//! Words below an axis: in one row, in rows of parts, or turned where neither has room. No two
//! words ever read alike.

use super::legend::{LETTER, LINE, is_mark, wrap};

/// The most rows that the parts of a word stand in.
const ROWS: usize = 3;
/// The most letters of a turned word.
const LONGEST: usize = 32;
/// Pixels between a word and the next one.
const BETWEEN: i32 = 8;

/// How the words of an axis stand.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Words {
    /// The rows of each word, below its tick.
    Rows(Vec<Vec<String>>),
    /// Each word upwards; none where it and its neighbour would touch.
    Turned(Vec<String>),
}

impl Words {
    /// The words along an axis of so many pixels.
    pub(super) fn along(pixels: i32, words: &[String]) -> Self {
        let slot = pixels / i32::try_from(words.len()).unwrap_or(i32::MAX).max(1);
        let letters = usize::try_from((slot - BETWEEN) / LETTER).unwrap_or(0);
        let fits = |word: &String| {
            let parts = word.split_inclusive(|c: char| c == ' ' || is_mark(c));
            parts.into_iter().all(|part| part.trim_end().chars().count() <= letters)
        };
        if letters > 1 && words.iter().all(fits) {
            let rows: Vec<Vec<String>> = words.iter().map(|word| wrap(word, letters)).collect();
            if rows.iter().all(|rows| rows.len() <= ROWS) {
                return Self::Rows(rows);
            }
        }
        let step = usize::try_from(LINE / slot.max(1) + i32::from(LINE % slot.max(1) > 0));
        let step = step.unwrap_or(1).max(1);
        let short = shortened(words).into_iter().enumerate();
        let shown = |(at, word): (usize, String)| {
            if at.is_multiple_of(step) { word } else { String::new() }
        };
        Self::Turned(short.map(shown).collect())
    }

    /// Pixels below the axis, the title of the axis left out.
    pub(super) fn height(&self) -> i32 {
        match self {
            Self::Rows(words) => LINE * most(words.iter().map(Vec::len)),
            Self::Turned(words) => LETTER * most(words.iter().map(|word| word.chars().count())),
        }
    }
}

fn most(counts: impl Iterator<Item = usize>) -> i32 {
    i32::try_from(counts.max().unwrap_or(0)).unwrap_or(0)
}

/// The words, long ones without their end, or without their middle where they differ in the end
/// only; what reads alike even so is numbered.
fn shortened(words: &[String]) -> Vec<String> {
    let cut = |head: usize, word: &String| -> String {
        let letters: Vec<char> = word.chars().collect();
        if letters.len() <= LONGEST {
            return word.clone();
        }
        let tail = &letters[letters.len() - (LONGEST - 1 - head)..];
        letters[..head].iter().chain(&['…']).chain(tail).collect()
    };
    let ways = [LONGEST - 1, LONGEST / 2].into_iter();
    let mut all = ways.map(|head| words.iter().map(|word| cut(head, word)).collect::<Vec<_>>());
    if let Some(distinct) = all.find(|words| are_distinct(words)) {
        return distinct;
    }
    let numbered = words.iter().enumerate();
    numbered.map(|(at, word)| format!("{} {}", at + 1, cut(LONGEST - 5, word))).collect()
}

fn are_distinct(words: &[String]) -> bool {
    words.iter().enumerate().all(|(at, word)| !words[..at].contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn along(pixels: i32, words: &[&str]) -> Words {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        Words::along(pixels, &words)
    }

    #[test]
    fn words_take_rows_and_are_turned_where_those_have_no_room() {
        let row = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let three = along(600, &["mcs", "mcs_cas_first", "test_and_set"]);
        let expected = vec![row(&["mcs"]), row(&["mcs_cas_first"]), row(&["test_and_set"])];
        assert_eq!(three, Words::Rows(expected));
        let narrow = along(200, &["rput", "coop_hybrid", "coop_hca"]);
        let expected = vec![row(&["rput"]), row(&["coop_", "hybrid"]), row(&["coop_hca"])];
        assert_eq!(narrow, Words::Rows(expected));
        let turned = along(120, &["rput", "coop_hybrid", "coop_hca"]);
        assert_eq!(turned, Words::Turned(row(&["rput", "coop_hybrid", "coop_hca"])));
        assert_eq!(turned.height(), 11 * LETTER);
    }

    #[test]
    fn no_two_words_read_alike() {
        let long = |end: &str| format!("{}{end}", "a_long_beginning_".repeat(3));
        let tails = [long("rput"), long("rget")];
        let same = |n: u8| format!("{}{n}{}", "b".repeat(60), "e".repeat(60));
        let middles = [same(1), same(2)];
        for words in [tails, middles] {
            let Words::Turned(shown) = Words::along(100, &words) else { panic!("turned") };
            assert_ne!(shown[0], shown[1]);
            assert!(shown.iter().all(|word| word.chars().count() <= LONGEST + 2), "{shown:?}");
        }
    }

    #[test]
    fn of_very_many_words_some_are_shown() {
        let words: Vec<String> = (0..100).map(|n| format!("variant_{n}")).collect();
        let Words::Turned(shown) = Words::along(600, &words) else { panic!("turned") };
        let count = shown.iter().filter(|word| !word.is_empty()).count();
        assert!((20..=34).contains(&count), "{count}");
    }
}
