//! What an MPI call does, for its colour.

use serde::Serialize;

/// The classes that differ by colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Waits for messages, or receives one: also tests and probes.
    Wait,
    /// Sends.
    Send,
    /// Posts a receive.
    Post,
    /// A collective.
    Collective,
    /// Starts, completes or synchronises one-sided communication.
    OneSided,
    /// Anything else of MPI.
    Other,
    /// A search of the posted receive queue.
    SearchPosted,
    /// A search of the unexpected message queue.
    SearchUnexpected,
    /// An epoch of a window.
    Epoch,
    /// Another pair of events.
    Region,
}

impl Class {
    /// The class of an MPI function.
    pub fn of_function(name: &str) -> Class {
        let plain = name.strip_prefix("MPI_").unwrap_or(name);
        let plain = plain.strip_suffix("_c").unwrap_or(plain).to_lowercase();
        let collective = [
            "barrier",
            "bcast",
            "scatter",
            "gather",
            "reduce",
            "scan",
            "exscan",
            "allgather",
            "allreduce",
            "alltoall",
            "neighbor",
        ];
        let wait = ["wait", "test", "recv", "mrecv", "probe", "iprobe", "mprobe", "improbe", "sendrecv"];
        let send =
            ["send", "isend", "bsend", "ibsend", "ssend", "issend", "rsend", "irsend", "start", "psend"];
        let one_sided = [
            "put",
            "get",
            "accumulate",
            "get_accumulate",
            "fetch_and_op",
            "compare_and_swap",
            "rput",
            "rget",
            "raccumulate",
            "rget_accumulate",
        ];
        let begins = |words: &[&str], text: &str| words.iter().any(|word| text.starts_with(word));
        if plain.ends_with("_init") || plain == "init" {
            Class::Other
        } else if one_sided.contains(&plain.as_str()) || plain.starts_with("win_") {
            Class::OneSided
        } else if ["irecv", "imrecv", "precv"].contains(&plain.as_str()) {
            Class::Post
        } else if begins(&wait, &plain) && !plain.starts_with("test_cancelled") {
            Class::Wait
        } else if begins(&send, &plain) {
            Class::Send
        } else if begins(&collective, plain.strip_prefix('i').unwrap_or(&plain))
            || begins(&collective, &plain)
        {
            Class::Collective
        } else {
            Class::Other
        }
    }

    /// The class of a pair of events, by the name of the pair.
    pub fn of_region(name: &str) -> Class {
        match name {
            name if name.ends_with("search_posted") => Class::SearchPosted,
            name if name.ends_with("search_unexpected") => Class::SearchUnexpected,
            _ => Class::Region,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_the_class_of_what_they_do() {
        for (name, class) in [
            ("MPI_Waitall", Class::Wait),
            ("MPI_Recv_c", Class::Wait),
            ("MPI_Sendrecv", Class::Wait),
            ("MPI_Iprobe", Class::Wait),
            ("MPI_Isend", Class::Send),
            ("MPI_Startall", Class::Send),
            ("MPI_Irecv", Class::Post),
            ("MPI_Iallreduce", Class::Collective),
            ("MPI_Barrier", Class::Collective),
            ("MPI_Neighbor_alltoallw", Class::Collective),
            ("MPI_Rget_accumulate", Class::OneSided),
            ("MPI_Win_flush_all", Class::OneSided),
            ("MPI_Get_count", Class::Other),
            ("MPI_Init", Class::Other),
            ("MPI_Send_init", Class::Other),
            ("MPI_Comm_split", Class::Other),
        ] {
            assert_eq!(Class::of_function(name), class, "{name}");
        }
        assert_eq!(Class::of_region("pml_ob1_search_posted"), Class::SearchPosted);
    }
}
