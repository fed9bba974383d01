//! One type for all programs, so that a run of any workload is compiled once.

/// Makes an enum of programs that is a program itself.
macro_rules! programs {
    ($($(#[doc = $doc:literal])+ $name:ident($program:ty),)+) => {
        /// Any program that a scenario can ask for.
        #[derive(Clone, Debug, Eq, Hash, PartialEq)]
        pub enum AnyProgram {
            $($(#[doc = $doc])+ $name($program),)+
        }

        impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for AnyProgram {
            fn next(&mut self, reply: Option<Reply>) -> Next<Call> {
                match self {
                    $(Self::$name(program) => Program::<M>::next(program, reply),)+
                }
            }

            fn goes_on_at(&self, ps: u64) {
                match self {
                    $(Self::$name(program) => Program::<M>::goes_on_at(program, ps),)+
                }
            }

            fn loaded(&mut self, value: u64) {
                match self {
                    $(Self::$name(program) => Program::<M>::loaded(program, value),)+
                }
            }

            fn uses_a_gpu(&self) -> bool {
                match self {
                    $(Self::$name(program) => Program::<M>::uses_a_gpu(program),)+
                }
            }

            fn process_memory(&self) -> Option<std::rc::Rc<dyn ProcessMemory>> {
                match self {
                    $(Self::$name(program) => Program::<M>::process_memory(program),)+
                }
            }

            fn sends_ready(&self) -> bool {
                match self {
                    $(Self::$name(program) => Program::<M>::sends_ready(program),)+
                }
            }

            fn forks(&self) -> bool {
                match self {
                    $(Self::$name(program) => Program::<M>::forks(program),)+
                }
            }

            fn position(&self) -> Option<u32> {
                match self {
                    $(Self::$name(program) => Program::<M>::position(program),)+
                }
            }

            fn call_site(&self) -> Option<CallSite> {
                match self {
                    $(Self::$name(program) => Program::<M>::call_site(program),)+
                }
            }

            fn begun_at(&self, call: u32) -> Option<CallSite> {
                match self {
                    $(Self::$name(program) => Program::<M>::begun_at(program, call),)+
                }
            }

            fn line_of(&self, call: u32) -> Option<u32> {
                match self {
                    $(Self::$name(program) => Program::<M>::line_of(program, call),)+
                }
            }
        }
    };
}
pub(crate) use programs;
