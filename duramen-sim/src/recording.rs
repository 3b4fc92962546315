//! What processes did to the files of a database, as strace recorded it.
//!
//! Owns: strace's lines as events ([`read`]), how a workload speaks in between ([`say`]). Must not know: what a crash leaves.
//!
//! The other records of this crate are made between the engine and the system's files. This one is made below: it has what
//! reached the kernel, in its order.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::disk::{Deed, Event, Mark, Which};
use crate::workload::FILE;

/// Arguments with which strace records what [`read`] understands.
pub const OPTIONS: [&str; 7] = [
    "-fyxx",
    "-s",
    "268435456",
    "-e",
    "trace=openat,write,pwrite64,pwritev,ftruncate,fallocate,fsync,fdatasync,syncfs,unlinkat,renameat2,clone,clone3,fork,vfork,io_uring_setup",
    // It does not see what is written by way of a ring: there are to be none.
    "-e",
    "inject=io_uring_setup:error=ENOSYS",
];

const SAID: &str = "mark ";

/// Says a mark in such a way that it is found in the recording.
pub fn say(mark: Mark) {
    let (kind, state) = match mark {
        Mark::Begun(state) => ("begun", state),
        Mark::Durable(state) => ("durable", state),
        Mark::Void(state) => ("void", state),
    };
    // In one call. Should nobody listen, nothing is lost but the recording.
    let _ = std::io::stderr().write_all(format!("{SAID}{kind} {state}\n").as_bytes());
}

fn heard(text: &[u8]) -> Option<Mark> {
    let (kind, state) = std::str::from_utf8(text).ok()?.strip_prefix(SAID)?.trim_end().split_once(' ')?;
    let state = state.parse().ok()?;
    match kind {
        "begun" => Some(Mark::Begun(state)),
        "durable" => Some(Mark::Durable(state)),
        "void" => Some(Mark::Void(state)),
        _ => None,
    }
}

/// What happened to a life's files, and what was said meanwhile. Calls count from when they ended; but a flush did only what had
/// ended when it began. What a process was about when it was killed is of no account: flushes, since nobody knows what they did.
///
/// # Errors
/// A line is not understood; or a state was called durable before the name of the data file was.
pub fn read(trace: impl BufRead) -> Result<Vec<Event>, String> {
    let lines = trace.lines().collect::<Result<Vec<String>, _>>().map_err(|e| format!("the recording: {e}"))?;
    // A thread may be heard before the call that made it has ended.
    let mut makers = Calls::default();
    let mut threads = HashMap::new();
    for line in &lines {
        if let Some(Moment::Ended(maker, call)) = makers.next(line)
            && let Some(call) = Call::of(&call)
            && call.name.starts_with("clone")
            && call.arguments.contains("CLONE_FILES")
        {
            threads.insert(call.answer.to_string(), maker.to_owned());
        }
    }
    let mut reading = Reading { threads, ..Reading::default() };
    let mut calls = Calls::default();
    for (i, line) in lines.iter().enumerate() {
        let Some(moment) = calls.next(line) else { continue };
        reading.moment(&moment).map_err(|why| {
            let beginning: String = line.chars().take(200).collect();
            format!("line {} of the recording: {why}: {beginning}", i + 1)
        })?;
    }
    Ok(reading.events)
}

/// Puts together what strace tells in two lines.
#[derive(Default)]
struct Calls {
    /// Calls that have begun, by thread and name.
    begun: HashMap<(String, String), String>,
}

/// A call's beginning, if others came before its end, or its end; and whose it is.
enum Moment<'l> {
    Begun(&'l str, String),
    Ended(&'l str, String),
}

impl Calls {
    fn next<'l>(&mut self, line: &'l str) -> Option<Moment<'l>> {
        let (thread, text) = line.split_once(' ')?;
        let text = text.trim_start();
        if let Some(begun) = text.strip_suffix("<unfinished ...>") {
            let name = begun.split('(').next().unwrap_or_default();
            self.begun.insert((thread.to_owned(), name.to_owned()), begun.to_owned());
            return Some(Moment::Begun(thread, begun.to_owned()));
        }
        let whole = match text.strip_prefix("<... ").and_then(|text| text.split_once(" resumed>")) {
            Some((name, rest)) => self.begun.remove(&(thread.to_owned(), name.to_owned()))? + rest,
            None => text.to_owned(),
        };
        Some(Moment::Ended(thread, whole))
    }
}

#[derive(Default)]
struct Reading {
    events: Vec<Event>,
    /// Which thread made a thread of its own process.
    threads: HashMap<String, String>,
    directory: Option<PathBuf>,
    /// Descriptors whose writes are flushed at once.
    flushing: HashSet<Descriptor>,
    /// Files that were made, in the order of that, and whose names were not flushed since.
    unnamed: Vec<Which>,
    /// Flushes that began in one line and end in another, by thread; those of the directory, and which names they flush.
    flushes: HashSet<u32>,
    naming: HashMap<u32, Vec<Which>>,
}

/// An open file: the process, by its first thread, and the number there.
type Descriptor = (String, u32);

impl Reading {
    fn moment(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::Begun(thread, call) => self.begun(thread, call),
            // What is no call: signals, and the ends of threads.
            Moment::Ended(thread, call) => Call::of(call).map_or(Ok(()), |call| self.call(thread, &call)),
        }
    }

    /// The beginning of a call that takes its time: it matters of flushes.
    fn begun(&mut self, thread: &str, call: &str) -> Result<(), String> {
        let Some((name @ ("fsync" | "fdatasync"), arguments)) = call.split_once('(') else { return Ok(()) };
        let (number, call) = (number_of(thread)?, Call { name, arguments, answer: 0, rest: "" });
        let Some((_, path)) = call.descriptor() else { return Ok(()) };
        if self.directory.as_ref() == Some(&path) {
            self.naming.insert(number, self.unnamed.clone());
        } else if let Some(file) = which(&path) {
            self.flushes.insert(number);
            self.events.push(Event::On(file, Deed::FlushBegun(number)));
        }
        Ok(())
    }

    fn call(&mut self, thread: &str, call: &Call<'_>) -> Result<(), String> {
        match call.name {
            "openat" => self.opened(thread, call),
            "write" => call.strings().first().and_then(|text| heard(text)).map_or(Ok(()), |mark| self.mark(mark)),
            "unlinkat" => {
                let is_log = call.strings().pop().is_some_and(|name| which(&path_of(name)) == Some(Which::Log));
                if is_log && call.answer == 0 {
                    self.events.push(Event::On(Which::Log, Deed::Removed));
                }
                Ok(())
            }
            "clone" | "clone3" | "fork" | "vfork" => Ok(()),
            _ => self.on_descriptor(thread, call),
        }
    }

    /// An open file of a thread's process.
    fn descriptor<'t>(&'t self, mut thread: &'t str, number: u32) -> Descriptor {
        while let Some(maker) = self.threads.get(thread) {
            thread = maker;
        }
        (thread.to_owned(), number)
    }

    fn opened(&mut self, thread: &str, call: &Call<'_>) -> Result<(), String> {
        let (Ok(number), Some(path)) = (u32::try_from(call.answer), call.answer_path()) else { return Ok(()) };
        let descriptor = self.descriptor(thread, number);
        self.flushing.remove(&descriptor);
        let Some(file) = which(&path) else { return Ok(()) };
        if call.arguments.contains("O_DSYNC") {
            self.flushing.insert(descriptor);
        }
        // The data file is made once, and never again; the log only by who says that there is none.
        let is_new = match file {
            Which::Data => self.directory.is_none() && call.arguments.contains("O_CREAT"),
            Which::Log => call.arguments.contains("O_EXCL"),
        };
        if is_new {
            self.directory = path.parent().map(Path::to_path_buf);
            self.unnamed.push(file);
            self.events.extend([Deed::Made, Deed::Unnamed].map(|deed| Event::On(file, deed)));
        }
        Ok(())
    }

    fn mark(&mut self, mark: Mark) -> Result<(), String> {
        if self.unnamed.contains(&Which::Data) && matches!(mark, Mark::Durable(_)) {
            return Err("called durable before the directory was flushed".into());
        }
        self.events.push(Event::Mark(mark));
        Ok(())
    }

    /// The directory was flushed.
    fn named(&mut self, number: u32, answer: i64) {
        let names = self.naming.remove(&number).unwrap_or_else(|| self.unnamed.clone());
        if answer == 0 {
            self.unnamed.retain(|file| !names.contains(file));
            self.events.extend(names.into_iter().map(|file| Event::On(file, Deed::Named)));
        }
    }

    fn on_descriptor(&mut self, thread: &str, call: &Call<'_>) -> Result<(), String> {
        let Some((descriptor, path)) = call.descriptor() else { return Ok(()) };
        let number = number_of(thread)?;
        if self.directory.as_ref() == Some(&path) {
            self.named(number, call.answer);
            return Ok(());
        }
        let Some(file) = which(&path) else { return Ok(()) };
        let deed = match (call.name, call.answer) {
            ("fsync" | "fdatasync", 0) if self.flushes.remove(&number) => Deed::FlushEnded(number),
            ("fsync" | "fdatasync", 0) => Deed::Flush,
            ("fsync" | "fdatasync", _) => Deed::FlushFailed,
            ("ftruncate", 0) => Deed::SetLen(call.last_number().ok_or("no length")?),
            ("pwrite64" | "pwritev", written @ 1..) => {
                let mut bytes = call.strings().concat();
                bytes.truncate(usize::try_from(written).map_err(|e| e.to_string())?);
                let offset = call.last_number().ok_or("no offset")?;
                let range = offset..offset + bytes.len() as u64;
                self.events.push(Event::On(file, Deed::Write(offset, bytes.into())));
                if !self.flushing.contains(&self.descriptor(thread, descriptor)) {
                    return Ok(());
                }
                Deed::FlushOf(range)
            }
            _ => return Err("this is not foreseen".into()),
        };
        self.events.push(Event::On(file, deed));
        Ok(())
    }
}

fn number_of(thread: &str) -> Result<u32, String> {
    thread.parse().map_err(|e| format!("{thread} is no thread: {e}"))
}

/// The file of this name, if it is one of a life's.
fn which(path: &Path) -> Option<Which> {
    let name = path.file_name()?.to_str()?.strip_prefix(FILE)?;
    match name {
        "" => Some(Which::Data),
        "-log" => Some(Which::Log),
        _ => None,
    }
}

/// A call that has ended: `name(arguments) = answer`.
struct Call<'a> {
    name: &'a str,
    arguments: &'a str,
    answer: i64,
    /// What follows the number.
    rest: &'a str,
}

impl Call<'_> {
    fn of(text: &str) -> Option<Call<'_>> {
        let (call, answer) = text.rsplit_once(" = ")?;
        let (name, arguments) = call.trim_end().strip_suffix(')')?.split_once('(')?;
        let end = answer.find(|c: char| c != '-' && !c.is_ascii_digit()).unwrap_or(answer.len());
        let (answer, rest) = answer.split_at(end);
        Some(Call { name, arguments, answer: answer.parse().ok()?, rest })
    }

    /// What stands in quotes.
    fn strings(&self) -> Vec<Vec<u8>> {
        self.arguments.split('"').skip(1).step_by(2).map(unescaped).collect()
    }

    fn last_number(&self) -> Option<u64> {
        self.arguments.rsplit(", ").next()?.trim_end().parse().ok()
    }

    /// The descriptor that comes first, and what it is of.
    fn descriptor(&self) -> Option<(u32, PathBuf)> {
        let (number, rest) = self.arguments.split_once('<')?;
        Some((number.parse().ok()?, path_of(unescaped(rest.split('>').next()?))))
    }

    /// What the descriptor is of that was answered.
    fn answer_path(&self) -> Option<PathBuf> {
        Some(path_of(unescaped(self.rest.strip_prefix('<')?.split('>').next()?)))
    }
}

fn path_of(bytes: Vec<u8>) -> PathBuf {
    std::ffi::OsString::from_vec(bytes).into()
}

/// The bytes of `\x68\x69`.
fn unescaped(text: &str) -> Vec<u8> {
    let digits = text.split("\\x").skip(1).filter_map(|digits| u8::from_str_radix(digits, 16).ok());
    digits.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> String {
        text.bytes().map(|byte| format!("\\x{byte:02x}")).collect()
    }

    /// Lines of strace, in which what stands between ~ is written in its way.
    fn recorded(lines: &str) -> Result<Vec<String>, String> {
        let mut is_text = true;
        let pieces = lines.split('~').map(|piece| {
            is_text = !is_text;
            if is_text { hex(piece) } else { piece.to_owned() }
        });
        let trace: String = pieces.collect();
        Ok(read(trace.as_bytes())?.iter().map(ToString::to_string).collect())
    }

    const MADE: &str = r#"7  openat(AT_FDCWD<~/d~>, "~life.dm~", O_RDWR|O_CREAT, 0600) = 3<~/d/life.dm~>
"#;

    #[test]
    fn calls_become_what_happened_to_the_files() {
        let said = recorded(&format!(
            r#"{MADE}7  openat(AT_FDCWD<~/d~>, "~/d~", O_RDONLY) = 4<~/d~>
7  fsync(4<~/d~>)                     = 0
7  pwritev(3<~/d/life.dm~>, [{{iov_base="~ab~", iov_len=2}}, {{iov_base="~c~", iov_len=1}}], 2, 4096 <unfinished ...>
7  <... pwritev resumed>)            = 3
8  fdatasync(3<~/d/life.dm~> <unfinished ...>
7  write(2<~/dev/null~>, "~mark begun 3
~", 13) = 13
8  <... fdatasync resumed>)                = 0
7  ftruncate(3<~/d/life.dm~>, 8192)   = 0
7  openat(5<~/d~>, "~life.dm-log~", O_RDWR|O_CREAT|O_EXCL, 0600) = 6<~/d/life.dm-log~>
7  openat(AT_FDCWD<~/d~>, "~/proc/self/fd/6~", O_WRONLY|O_DSYNC) = 7<~/d/life.dm-log~>
7  fsync(4<~/d~>)                     = 0
7  pwrite64(7<~/d/life.dm-log~>, "~abc~", 3, 512) = 2
7  write(2<~/dev/null~>, "~mark durable 3
~", 15) = 15
7  pwrite64(9<~/d/other~>, "~abc~", 3, 512) = 3
7  unlinkat(5<~/d~>, "~life.dm-log~", 0) = 0
7  +++ exited with 0 +++
"#
        ));
        let wanted = [
            "Data: made",
            "Data: its name is not flushed",
            "Data: its name is flushed",
            "Data: 3 bytes written at 0x1000",
            "Data: flush 8 began",
            "Begun(3)",
            "Data: flush 8 ended",
            "Data: length set to 0x2000",
            "Log: made",
            "Log: its name is not flushed",
            "Log: its name is flushed",
            "Log: 2 bytes written at 0x200",
            "Log: 0x200..0x202 flushed",
            "Durable(3)",
            "Log: removed",
        ];
        assert_eq!(said.unwrap(), wanted);
    }

    #[test]
    fn nothing_is_durable_in_a_file_whose_name_is_not() {
        let mark = "7  write(2<~/dev/null~>, \"~mark durable 0\n~\", 15) = 15\n";
        assert!(recorded(&format!("{MADE}{mark}")).unwrap_err().contains("before the directory was flushed"));
    }

    #[test]
    fn a_descriptor_is_of_a_process_whichever_of_its_threads_uses_it() {
        let said = recorded(&format!(
            r#"{MADE}7  clone3({{flags=CLONE_VM|CLONE_FILES|CLONE_THREAD}}, 88 <unfinished ...>
8  openat(AT_FDCWD<~/d~>, "~/proc/self/fd/3~", O_WRONLY|O_DSYNC) = 7<~/d/life.dm~>
7  <... clone3 resumed>)             = 8
7  clone3({{flags=CLONE_VM|CLONE_VFORK}}, 88) = 9
7  pwrite64(7<~/d/life.dm~>, "~abc~", 3, 512) = 3
9  pwrite64(7<~/d/life.dm~>, "~abc~", 3, 512) = 3
9  pwrite64(7<~/d/life.dm~>, "~abc~", 3, 512) = ?
9  +++ killed by SIGKILL +++
"#
        ));
        let written = "Data: 3 bytes written at 0x200";
        let wanted = ["Data: made", "Data: its name is not flushed", written, "Data: 0x200..0x203 flushed", written];
        assert_eq!(said.unwrap(), wanted);
    }

    #[test]
    fn a_call_that_is_not_foreseen_is_no_recording() {
        let call = "7  fallocate(3<~/d/life.dm~>, 0, 0, 4096) = 0\n";
        assert!(recorded(&format!("{MADE}{call}")).unwrap_err().contains("line 2"));
    }
}
