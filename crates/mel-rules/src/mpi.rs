//! Which MPI a profile is of, by what the library says of itself.

/// An MPI library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mpi {
    /// Its name, as rules have it.
    pub name: &'static str,
    /// The first two numbers of its version.
    pub version: Option<(u32, u32)>,
}

/// What a library's text begins with or has in it, and whose it is then; the first that fits.
const MARKS: [(&str, &str); 6] = [
    ("open mpi", "Open MPI"),
    ("mvapich2", "MVAPICH2"),
    ("mvapich", "MVAPICH"),
    ("intel(r) mpi", "Intel MPI"),
    ("cray mpich", "Cray MPICH"),
    ("mpich", "MPICH"),
];

impl Mpi {
    /// Of what `MPI_Get_library_version` says.
    pub fn of(library: &str) -> Mpi {
        let lower = library.to_lowercase();
        let found = MARKS.iter().find_map(|(mark, name)| Some((*name, lower.find(mark)? + mark.len())));
        let (name, rest) = found.map_or(("other", ""), |(name, end)| (name, &lower[end..]));
        Mpi { name, version: version(rest) }
    }
}

/// The first two numbers with a point between them.
fn version(text: &str) -> Option<(u32, u32)> {
    let digit = text.find(|c: char| c.is_ascii_digit())?;
    let mut numbers = text[digit..].split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_what_they_say() {
        for (text, name, version) in [
            ("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", "Open MPI", Some((4, 1))),
            ("MPICH Version:\t4.0.2", "MPICH", Some((4, 0))),
            ("MVAPICH2 Version      :\t2.3.7", "MVAPICH2", Some((2, 3))),
            ("Intel(R) MPI Library 2021.9 for Linux* OS", "Intel MPI", Some((2021, 9))),
            ("MPI VERSION    : CRAY MPICH version 8.1.25.17", "Cray MPICH", Some((8, 1))),
            ("something", "other", None),
        ] {
            assert_eq!(Mpi::of(text), Mpi { name, version }, "{text}");
        }
    }
}
