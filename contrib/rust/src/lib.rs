//! Real-time reservations for a Rust program, by the files of the spool (rtf-spec(5), rtf-verdict(5)). This crate needs nothing but the standard library: no
//! librtf and no other crate. Five functions of libc are declared here, because the standard library has no inotify and no poll.
//!
//! A reservation is for a thread of the kernel. Times in a spec are microseconds, or strings with a unit such as "5ms".

mod json;
pub use json::Json;

use std::ffi::CString;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::raw::{c_char, c_int, c_short, c_ulong};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::io::{AsRawFd, FromRawFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[repr(C)]
struct PollFd {
    fd: c_int,
    events: c_short,
    revents: c_short,
}

extern "C" {
    fn inotify_init1(flags: c_int) -> c_int;
    fn inotify_add_watch(fd: c_int, path: *const c_char, mask: u32) -> c_int;
    fn poll(fds: *mut PollFd, count: c_ulong, timeout: c_int) -> c_int;
    fn geteuid() -> u32;
    fn gettid() -> c_int;
}

const NONBLOCK: c_int = 0o4000;
const CLOEXEC: c_int = 0o2000000;
const ENXIO: i32 = 6;
const POLLIN: c_short = 1;
/// IN_MOVED_TO, IN_DELETE, IN_DELETE_SELF, IN_MOVE_SELF
const CHANGES: u32 = 0x80 | 0x200 | 0x400 | 0x800;

/// The id of the calling thread, for `Reservation::attach`.
pub fn thread_id() -> i32 {
    unsafe { gettid() }
}

/// The reason why a call has failed.
#[derive(Debug)]
pub enum Error {
    /// The broker's answer: `result` and `code` are words of rtf-verdict(5), `nearest` is the largest amount that would be granted; 0: this amount is not
    /// known. If the runtime is too small, `nearest_minimum` is the least runtime that would be granted; otherwise it is 0.
    Refused { result: String, code: String, sentence: String, nearest: u64, nearest_minimum: u64 },
    NoBroker,
    Timeout,
    Gone,
    /// The text is not one JSON object.
    NotASpec,
    System(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Error::Refused { sentence, .. } => out.write_str(sentence),
            Error::NoBroker => out.write_str("no broker runs on this spool, or the broker ended before it answered"),
            Error::Timeout => out.write_str("no answer within the time allowed"),
            Error::Gone => out.write_str("the spec was removed, has expired or was revoked"),
            Error::NotASpec => out.write_str("a spec is one JSON object, and its numbers are whole"),
            Error::System(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::System(error)
    }
}

/// The user's own directory in a spool.
#[derive(Clone)]
pub struct Spool {
    /// The limit of each wait for an answer; None: no limit. `open` sets 30 s.
    pub timeout: Option<Duration>,
    root: PathBuf,
    directory: PathBuf,
}

impl Spool {
    /// Enters the directory named $USER if it belongs to the caller; else the directory named by the uid, which is made if it is missing. None: $RTF_SPOOL, or
    /// else /var/spool/rtf.
    pub fn open(spool: Option<&Path>) -> Result<Spool, Error> {
        let root = match (spool, std::env::var_os("RTF_SPOOL")) {
            (Some(path), _) => path.to_path_buf(),
            (None, Some(path)) => PathBuf::from(path),
            (None, None) => PathBuf::from("/var/spool/rtf"),
        };
        let uid = unsafe { geteuid() }.to_string();
        let named = std::env::var("USER").ok().map(|user| root.join("specs").join(user));
        let directory = named.filter(|path| is_own_directory(path)).unwrap_or_else(|| root.join("specs").join(uid));
        match fs::DirBuilder::new().mode(0o700).create(&directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error.into()),
            _ => Ok(Spool { timeout: Some(Duration::from_secs(30)), root, directory }),
        }
    }

    /// Asks for a reservation, and waits for the answer. `spec` has the keys of rtf-spec(5). Never replaces a spec of another program. After a refusal no file
    /// stays behind.
    pub fn declare(&self, name: &str, spec: &str) -> Result<Reservation, Error> {
        let spec = match Json::parse(spec) {
            Some(Json::Object(members)) => Json::Object(members),
            _ => return Err(Error::NotASpec),
        };
        let mut made = Reservation { spool: self.clone(), name: name.to_string(), spec: Json::Object(Vec::new()), verdict: Json::Null };
        match made.ask(spec, true) {
            Ok(()) => Ok(made),
            Err(Error::System(error)) => Err(error.into()), // such as a spec of this name
            Err(error) => {
                let _ = fs::remove_file(made.file("json"));
                Err(error)
            }
        }
    }
}

/// One spec of this program. A reservation that is dropped without `release` stays; with "lifetime": "thread" it ends with its thread.
pub struct Reservation {
    spool: Spool,
    name: String,
    spec: Json,
    verdict: Json,
}

impl Reservation {
    /// The last answer: rtf-verdict(5).
    pub fn verdict(&self) -> &Json {
        &self.verdict
    }

    /// Gives the thread what is reserved, and waits until the thread has it.
    pub fn attach(&mut self, thread: i32) -> Result<(), Error> {
        self.change("attach", Json::Number(thread.into()))
    }

    /// Gives the thread its former scheduling back. The reservation stays.
    pub fn detach(&mut self) -> Result<(), Error> {
        self.change("attach", Json::Null)
    }

    /// Gives a key a new value; all other keys stay. If the broker refuses, the former reservation stays in force.
    pub fn change(&mut self, key: &str, value: Json) -> Result<(), Error> {
        let mut spec = self.spec.clone();
        spec.set(key, value);
        if fs::symlink_metadata(self.file("json")).is_err() {
            return Err(Error::Gone);
        }
        self.ask(spec, false)
    }

    /// Waits until something happens to the reservation without a call of this program. `Gone`: nothing is reserved any more.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<(), Error> {
        let former = fs::read(self.file("verdict")).map_err(|_| Error::Gone)?;
        let file = self.file("verdict");
        self.watch(timeout, || match fs::read(&file) {
            Ok(present) => present != former,
            Err(_) => true,
        })?;
        self.verdict = self.read().ok_or(Error::Gone)?;
        Ok(())
    }

    /// Ends the reservation, and waits until the thread has its former scheduling back.
    pub fn release(self) -> Result<(), Error> {
        match fs::remove_file(self.file("json")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => (),
        }
        let file = self.file("verdict");
        self.watch(self.spool.timeout, || fs::symlink_metadata(&file).is_err())
    }

    fn file(&self, suffix: &str) -> PathBuf {
        self.spool.directory.join(format!("{}.{}", self.name, suffix))
    }

    fn read(&self) -> Option<Json> {
        fs::read_to_string(self.file("verdict")).ok().and_then(|text| Json::parse(&text))
    }

    /// Writes the spec to a temporary file, and then makes NAME.json of this file in one step. The token tells the answer to this spec from answers to earlier
    /// specs.
    fn ask(&mut self, mut spec: Json, is_new: bool) -> Result<(), Error> {
        let token = make_token()?;
        spec.set("token", Json::Text(token.clone()));
        let aside = self.spool.directory.join(format!(".{}.{}", self.name, token));
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?.write_all(spec.to_string().as_bytes())?;
        let put = if is_new {
            let linked = fs::hard_link(&aside, self.file("json"));
            fs::remove_file(&aside).and(linked)
        } else {
            fs::rename(&aside, self.file("json"))
        };
        put?;
        self.watch(self.spool.timeout, || self.read().map_or(false, |verdict| answers(&verdict, &token)))?;
        self.verdict = self.read().ok_or(Error::Gone)?;
        if self.verdict.get("result").text() == "OK" {
            self.spec = spec;
            return Ok(());
        }
        let refusal = self.verdict.get("refusal");
        Err(Error::Refused {
            result: self.verdict.get("result").text().to_string(),
            code: refusal.get("code").text().to_string(),
            sentence: self.verdict.get("sentence").text().to_string(),
            nearest: refusal.get("nearest").number(),
            nearest_minimum: refusal.get("nearest_minimum").number(),
        })
    }

    /// Calls `done` at once, and after each change of the user's directory, until `done` returns true. The watch begins before the first call, so no change is
    /// missed. The pipe `alive` has an error condition as soon as no broker has the pipe open.
    fn watch<F: Fn() -> bool>(&self, timeout: Option<Duration>, done: F) -> Result<(), Error> {
        let alive = match OpenOptions::new().write(true).custom_flags(NONBLOCK).open(self.spool.root.join("alive")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(ENXIO) => return Err(Error::NoBroker),
            opened => opened?,
        };
        let mut events = watch_directory(&self.spool.directory)?;
        let until = timeout.map(|timeout| Instant::now() + timeout);
        while !done() {
            let (changed, ended) = sleep(&events, &alive, until)?;
            if ended && !done() {
                return Err(Error::NoBroker);
            }
            if !changed && !ended && until.map_or(false, |until| Instant::now() >= until) {
                return if done() { Ok(()) } else { Err(Error::Timeout) };
            }
            if changed {
                let _ = events.read(&mut [0; 8192]);
            }
        }
        Ok(())
    }
}

/// The broker's answer has no token if the file is no spec.
fn answers(verdict: &Json, token: &str) -> bool {
    let (given, result) = (verdict.get("token").text(), verdict.get("result").text());
    (given == token || (given.is_empty() && result == "BAD_SPEC")) && result != "WAITING"
}

fn is_own_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).map_or(false, |status| status.is_dir() && status.uid() == unsafe { geteuid() })
}

fn make_token() -> io::Result<String> {
    let mut random = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(random.iter().map(|byte| format!("{:02x}", byte)).collect())
}

fn watch_directory(directory: &Path) -> Result<File, Error> {
    let path = CString::new(directory.as_os_str().as_bytes()).map_err(|_| Error::Gone)?;
    let fd = unsafe { inotify_init1(NONBLOCK | CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error().into());
    }
    let events = unsafe { File::from_raw_fd(fd) };
    if unsafe { inotify_add_watch(fd, path.as_ptr(), CHANGES) } < 0 {
        return Err(Error::Gone);
    }
    Ok(events)
}

/// Returns whether the directory has changed, and whether the broker has ended.
fn sleep(events: &File, alive: &File, until: Option<Instant>) -> Result<(bool, bool), Error> {
    let mut fds = [
        PollFd { fd: events.as_raw_fd(), events: POLLIN, revents: 0 },
        PollFd { fd: alive.as_raw_fd(), events: 0, revents: 0 },
    ];
    let left = until.map_or(-1, |until| {
        let left = until.saturating_duration_since(Instant::now());
        (left.as_micros() as u64).saturating_add(999).min(i32::MAX as u64) as c_int / 1000
    });
    if unsafe { poll(fds.as_mut_ptr(), fds.len() as c_ulong, left) } < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok((false, false)) } else { Err(error.into()) };
    }
    Ok((fds[0].revents != 0, fds[1].revents != 0))
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn json_is_read_and_written() {
        let text = r#"{"a":[1,-2,null,true,false],"b":{"c":"\"\\\u0001 ö 😀"},"d":{}}"#;
        assert_eq!(Json::parse(text).unwrap().to_string(), text);
        assert_eq!(Json::parse(r#" "\ud83d\ude00\n" "#), Some(Json::Text("😀\n".to_string())));
        for wrong in ["", "{", "{\"a\"}", "[1,]", "[,1]", "1.5", "nul", "\"\\x\"", "\"\\ud83d\"", "{} {}", &"[".repeat(100)] {
            assert_eq!(Json::parse(wrong), None, "{}", wrong);
        }
    }
}
