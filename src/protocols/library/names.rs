//! What packets are called in pictures.

use super::Packet;
use crate::wire::Word;

/// A word or two, as the documents write it.
pub(crate) fn name_of(packet: &Packet) -> String {
    match packet {
        Packet::Eager(_) => "EAGER".to_owned(),
        Packet::Matched { .. } => "MATCHED".to_owned(),
        Packet::Rts { .. } => "RTS".to_owned(),
        Packet::Rtr(_) => "RTR".to_owned(),
        Packet::Rendezvous { word, .. } => word_of(word).to_owned(),
        Packet::Rma(packet) => packet.to_string(),
    }
}

const fn word_of(word: &Word) -> &'static str {
    match word {
        Word::Cts { .. } => "CTS",
        Word::Fin => "FIN",
        Word::Taken { .. } => "TAKEN",
        Word::Chunk { .. } => "CHUNK",
        Word::Credit => "CREDIT",
    }
}
