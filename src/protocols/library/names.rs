//! What packets are called in pictures.

use super::Packet;
use crate::wire::ControlMessage;

/// A word or two, as the documents write it.
pub(crate) fn name_of(packet: &Packet) -> String {
    match packet {
        Packet::Eager(_) => "EAGER".to_owned(),
        Packet::Matched { .. } => "MATCHED".to_owned(),
        Packet::Rts { .. } => "RTS".to_owned(),
        Packet::Rtr(_) => "RTR".to_owned(),
        Packet::Rendezvous { word, .. } => word_of(word).to_owned(),
        Packet::Rma(packet) => packet.to_string(),
        Packet::Partition(packet) => packet.to_string(),
    }
}

const fn word_of(word: &ControlMessage) -> &'static str {
    match word {
        ControlMessage::Cts { .. } => "CTS",
        ControlMessage::Fin => "FIN",
        ControlMessage::Taken { .. } => "TAKEN",
        ControlMessage::Chunk { .. } => "CHUNK",
        ControlMessage::Credit => "CREDIT",
    }
}
