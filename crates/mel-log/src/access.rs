//! Who may read what a run leaves, and whose files and directories are believed.
//!
//! New directories and files of a run are for their owner, whatever the umask is: command lines and names are in them. The user may share
//! them: `mel run --mode group`, `MEL_MODE`.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};

/// Who may read what a run leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Its owner: directories have mode 0700, files 0600.
    #[default]
    Private,
    /// Its group, too: 0750 and 0640.
    Group,
    /// All users: 0755 and 0644.
    All,
}

const EACH: [Access; 3] = [Access::Private, Access::Group, Access::All];

/// That of this process, as its place in [`EACH`].
static OURS: AtomicU8 = AtomicU8::new(0);

impl Access {
    /// As users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Access::Private => "private",
            Access::Group => "group",
            Access::All => "all",
        }
    }

    /// What that word means.
    #[must_use]
    pub fn parse(text: &str) -> Option<Access> {
        EACH.into_iter().find(|access| access.name() == text)
    }

    /// From now on files and directories that this process makes by this module have these modes. From any thread.
    pub fn set(self) {
        OURS.store(self as u8, Ordering::Relaxed);
    }

    fn ours() -> Access {
        EACH.get(usize::from(OURS.load(Ordering::Relaxed))).copied().unwrap_or_default()
    }

    /// Mode of a directory.
    #[must_use]
    pub fn of_directories(self) -> u32 {
        match self {
            Access::Private => 0o700,
            Access::Group => 0o750,
            Access::All => 0o755,
        }
    }

    /// Mode of a file.
    #[must_use]
    pub fn of_files(self) -> u32 {
        self.of_directories() & 0o666
    }
}

/// Makes a new file, for reading and writing. Nothing of that name may be there, not even a link.
///
/// # Errors
/// Those of the file system; [`io::ErrorKind::AlreadyExists`].
pub fn create(path: &Path) -> io::Result<File> {
    let mode = Access::ours().of_files();
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(path)?;
    // Past the umask. Where a file system has no modes, there is nothing to do.
    let _ = file.set_permissions(Permissions::from_mode(mode));
    Ok(file)
}

/// The same in place of a file of that name, which whoever has it open keeps.
///
/// # Errors
/// Those of the file system; it is a directory.
pub fn replace(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => create(path),
    }
}

/// Makes a new directory.
///
/// # Errors
/// Those of the file system; [`io::ErrorKind::AlreadyExists`].
pub fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(Access::ours().of_directories()).create(path)?;
    share(path);
    Ok(())
}

/// The same where there is none yet, with those above it, which are made as the umask says.
///
/// # Errors
/// Those of the file system; something else has that name.
pub fn create_directories(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
        fs::create_dir_all(above)?;
    }
    match create_directory(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made,
    }
}

/// Gives a file or directory that this process has made by other means, as a library has, the mode that it is to have. What fails is left.
pub fn share(path: &Path) {
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
    if let Ok(file) = opened
        && let Ok(found) = file.metadata()
        && found.uid() == user()
        && (found.is_dir() || found.is_file())
    {
        let access = Access::ours();
        let mode = if found.is_dir() { access.of_directories() } else { access.of_files() };
        // A directory that hands its group on goes on doing so.
        let _ = file.set_permissions(Permissions::from_mode(found.mode() & 0o7000 | mode));
    }
}

/// The user of this process.
#[must_use]
pub fn user() -> u32 {
    // SAFETY: the function takes nothing, and cannot fail.
    unsafe { libc::geteuid() }
}

/// Why a run must not write into a directory that is there already: in a line for the user.
#[must_use]
pub fn objection_to_directory(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    (found.is_dir() && found.uid() != user()).then(|| {
        format!(
            "{} belongs to another user (uid {}), who could change what is written there; give with -o a directory of \
             your own, or one that is not there yet",
            path.display(),
            found.uid()
        )
    })
}

/// Why a file is not to be loaded or obeyed, such as a plugin or a policy: others could have written it. In a line for the user.
///
/// The file, and the directory it is in, both with links followed, belong to this user, to root or to who has installed MEL, and neither
/// their group nor others can write to them; a directory may be one where nobody removes what is another's (`/tmp`). The directories
/// above cannot be written by others. What cannot be looked at is no objection: opening it says why.
#[must_use]
pub fn objection_to_code(path: &Path) -> Option<String> {
    let real = fs::canonicalize(path).ok()?;
    let above: Vec<&Path> = real.ancestors().skip(1).collect();
    let believed = [Some(user()), Some(0), installer()];
    for (place, path) in std::iter::once(&*real).chain(above.iter().copied()).enumerate() {
        let found = fs::metadata(path).ok()?;
        // Nobody removes or renames there what is another's.
        let is_safe = found.is_dir() && found.mode() & libc::S_ISVTX != 0;
        let shown = path.display();
        if place < 2 && !believed.contains(&Some(found.uid())) {
            return Some(format!(
                "{shown} belongs to another user (uid {}), who could change it; copy what you trust into a directory of \
                 your own, and give that",
                found.uid()
            ));
        }
        let others = if place < 2 { 0o022 } else { 0o002 };
        if found.mode() & others != 0 && !is_safe {
            return Some(format!("others can write to {shown}: chmod go-w {shown}"));
        }
    }
    None
}

/// The owner of the file that this code is in: the command, or the library.
fn installer() -> Option<u32> {
    let mut found = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: an address of this object, and room for the answer.
    let is_found = unsafe { libc::dladdr(installer as *const libc::c_void, &raw mut found) } != 0;
    if !is_found || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a name that was found ends with a zero, and stays as long as the object does.
    let name = unsafe { std::ffi::CStr::from_ptr(found.dli_fname) };
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes()));
    Some(fs::metadata(path).ok()?.uid())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn what_is_made_is_for_its_owner() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("a/b/run");
        create_directories(&path).unwrap();
        create_directories(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        let file = path.join("file");
        create(&file).unwrap();
        assert_eq!(mode(&file), 0o600);
        assert_eq!(create(&file).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        replace(&file).unwrap();
        // By other means.
        fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
        share(&file);
        assert_eq!(mode(&file), 0o600);
        // Nothing is written where a link leads.
        let link = path.join("link");
        symlink(room.path().join("elsewhere"), &link).unwrap();
        assert_eq!(create(&link).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        replace(&link).unwrap();
        assert!(!room.path().join("elsewhere").exists() && fs::symlink_metadata(&link).unwrap().is_file());
        assert_eq!((Access::Group.of_directories(), Access::Group.of_files()), (0o750, 0o640));
        assert_eq!((Access::All.of_directories(), Access::All.of_files()), (0o755, 0o644));
        assert_eq!(EACH.map(|access| Access::parse(access.name())), EACH.map(Some));
    }

    #[test]
    fn what_others_can_write_is_not_obeyed() {
        let room = tempfile::tempdir().unwrap();
        let folder = room.path().join("folder");
        fs::create_dir(&folder).unwrap();
        let file = folder.join("libp.so");
        fs::write(&file, "").unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        set(&file, 0o644);
        set(&folder, 0o755);
        assert_eq!(objection_to_code(&file), None);
        let link = room.path().join("link");
        symlink(&file, &link).unwrap();
        for (path, bad) in [(&file, 0o664), (&file, 0o646), (&folder, 0o775), (&folder, 0o757)] {
            let good = mode(path);
            set(path, bad);
            for named in [&file, &link] {
                let objection = objection_to_code(named).unwrap();
                assert!(objection.contains(&format!("chmod go-w {}", path.display())), "{objection}");
            }
            set(path, good);
        }
        set(&folder, 0o1777);
        assert_eq!(objection_to_code(&file), None, "nobody removes there what is another's");
        set(&folder, 0o755);
        set(room.path(), 0o707);
        assert!(objection_to_code(&file).is_some(), "above");
        set(room.path(), 0o700);
        assert_eq!(objection_to_code(&room.path().join("none")), None);
    }
}
