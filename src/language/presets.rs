//! The decision tables of collectives that libraries publish: files of `presets/`, in the form of
//! `mpi.collectives` of a scenario.

/// A published table.
pub(crate) struct Preset {
    /// Its word in scenarios.
    pub(crate) word: &'static str,
    /// The library whose rules they are.
    about: &'static str,
    /// Its file.
    pub(crate) text: &'static str,
}

/// The published tables.
pub(crate) const PRESETS: [Preset; 3] = [
    Preset {
        word: "mpich-4",
        about: "MPICH 4.0, device ch4",
        text: include_str!("presets/mpich-4.json"),
    },
    Preset {
        word: "openmpi-4.1",
        about: "Open MPI 4.1, fixed decisions of coll_tuned",
        text: include_str!("presets/openmpi-4.1.json"),
    },
    Preset {
        word: "mvapich2-2.3",
        about: "MVAPICH2 2.3 on nodes of two Xeon E5-2680 v4 with EDR",
        text: include_str!("presets/mvapich2-2.3.json"),
    },
];

/// Their words, with whose they are.
pub(crate) const WORDS: [(&str, &str); PRESETS.len()] = {
    let mut words = [("", ""); PRESETS.len()];
    let mut at = 0;
    while at < PRESETS.len() {
        words[at] = (PRESETS[at].word, PRESETS[at].about);
        at += 1;
    }
    words
};
