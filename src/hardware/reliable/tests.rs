use super::*;

const SMALL: Settings = Settings { psn_bits: 3, window: 4, ..Settings::new(2) };

fn sent(packets: u64) -> Sender {
    let mut sender = Sender::new(SMALL);
    sender.post(packets, &mut Vec::new());
    sender
}

#[track_caller]
fn check(mut act: impl FnMut(&mut Vec<Output>), expected: &[Output]) {
    let mut out = Vec::new();
    act(&mut out);
    assert_eq!(out, expected);
}

#[test]
fn a_window_is_sent_and_the_rest_waits_for_acks() {
    use Output::{Acknowledged, Arm, Disarm, Transmit};
    let mut sender = Sender::new(SMALL);
    let four = [Transmit(0), Transmit(1), Transmit(2), Transmit(3), Arm];
    check(|out| sender.post(6, out), &four);
    let two = [Acknowledged(2), Transmit(4), Transmit(5), Arm];
    check(|out| sender.hear(Answer::Ack(Psn(1)), out), &two);
    check(|out| sender.hear(Answer::Ack(Psn(1)), out), &[]);
    check(|out| sender.hear(Answer::Ack(Psn(5)), out), &[Acknowledged(6), Disarm]);
    assert!(sender.is_idle());
}

#[test]
fn a_nak_acknowledges_what_is_before_it_and_goes_back() {
    use Output::{Acknowledged, Arm, Transmit};
    let mut sender = sent(3);
    let back = [Acknowledged(1), Arm, Transmit(1), Transmit(2), Arm];
    check(|out| sender.hear(Answer::Nak(Psn(1)), out), &back);
}

#[test]
fn tries_without_progress_end_in_an_error_and_progress_forgives() {
    use Output::{Arm, Disarm, Failed, Transmit};
    let mut sender = sent(2);
    let again = [Transmit(0), Transmit(1), Arm];
    check(|out| sender.time_out(out), &again);
    check(|out| sender.time_out(out), &again);
    sender.hear(Answer::Ack(Psn(0)), &mut Vec::new());
    check(|out| sender.time_out(out), &[Transmit(1), Arm]);
    check(|out| sender.time_out(out), &[Transmit(1), Arm]);
    check(|out| sender.time_out(out), &[Disarm, Failed(1)]);
    check(|out| sender.hear(Answer::Ack(Psn(1)), out), &[]);
    assert!(sender.has_failed() && !sender.is_idle());
}

#[test]
fn a_receiver_takes_each_packet_once_and_in_order() {
    let mut receiver = Receiver::new(SMALL);
    let said = |taken, answer| Verdict { taken, answer };
    assert_eq!(receiver.receive(Psn(0)), said(true, Some(Answer::Ack(Psn(0)))));
    assert_eq!(receiver.receive(Psn(2)), said(false, Some(Answer::Nak(Psn(1)))));
    assert_eq!(receiver.receive(Psn(3)), said(false, None), "it has asked");
    assert_eq!(receiver.receive(Psn(0)), said(false, Some(Answer::Ack(Psn(0)))), "again");
    assert_eq!(receiver.receive(Psn(1)), said(true, Some(Answer::Ack(Psn(1)))));
    assert_eq!(receiver.receive(Psn(3)), said(false, Some(Answer::Nak(Psn(2)))), "a new gap");
    assert_eq!(receiver.taken(), 2);
}

#[test]
fn numbers_wrap_around() {
    let (mut sender, mut receiver) = (Sender::new(SMALL), Receiver::new(SMALL));
    let mut out = Vec::new();
    for packet in 0..50 {
        sender.post(1, &mut out);
        assert_eq!(out[0], Output::Transmit(packet));
        let verdict = receiver.receive(SMALL.psn(packet));
        assert!(verdict.taken);
        sender.hear(verdict.answer.unwrap(), &mut out);
        out.clear();
    }
    assert!(sender.is_idle() && receiver.taken() == 50);
    assert_eq!(Settings::new(7).psn(1 << 24), Psn(0), "24 bits");
}
