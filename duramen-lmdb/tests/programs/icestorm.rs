//! IceStorm, the publish and subscribe service of ZeroC's Ice: its topics and the links between them in LMDB.

use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};

use duramen_sim::port::free_port;

use crate::library::{self, BOTH, Library, Way};
use crate::server::Server;

struct IceStorm<'p> {
    library: Library,
    place: &'p Path,
}

impl<'p> IceStorm<'p> {
    fn new(library: Library, place: &'p Path) -> IceStorm<'p> {
        let (topics, publish, at) = (free_port(), free_port(), place.display());
        let service = format!(
            "IceStorm.InstanceName=It\nIceStorm.TopicManager.Endpoints=tcp -h 127.0.0.1 -p {topics}\n\
             IceStorm.Publish.Endpoints=tcp -h 127.0.0.1 -p {publish}\n\
             IceStorm.LMDB.Path={at}/db\nIceStorm.LMDB.MapSize=8\n"
        );
        fs::write(place.join("service"), service).unwrap();
        let loads = format!("IceBox.Service.IceStorm=IceStormService,37:createIceStorm --Ice.Config={at}/service\n");
        fs::write(place.join("icebox"), loads).unwrap();
        let manager = format!("IceStormAdmin.TopicManager.Default=It/TopicManager:tcp -h 127.0.0.1 -p {topics}\n");
        fs::write(place.join("admin"), manager).unwrap();
        fs::create_dir(place.join("db")).unwrap();
        IceStorm { library, place }
    }

    fn config(&self, name: &str) -> String {
        format!("--Ice.Config={}", self.place.join(name).display())
    }

    fn start(&self) -> Server {
        let mut command = self.library.command(Way::Linked, "icebox");
        command.arg(self.config("icebox"));
        let mut server = Server::start(&mut command, &self.place.join("log"));
        server.wait_for(|| (self.asked("topics").0 == Some(0)).then_some(()));
        server
    }

    fn admin(&self) -> Child {
        let mut command = self.library.command(Way::Linked, "icestormadmin");
        command.arg(self.config("admin")).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// What the service's client is told to do, and what it answers.
    fn asked(&self, commands: &str) -> (Option<i32>, String) {
        let mut child = self.admin();
        child.stdin.take().unwrap().write_all(commands.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).replace(">>> ", ""))
    }
}

#[test]
fn icestorm_keeps_its_topics_and_links() {
    let [stock, ours] = BOTH.map(|library| {
        let place = library::place();
        let storm = IceStorm::new(library, place.path());
        let mut server = storm.start();
        if library == Library::Ours {
            library::assert_mapped(server.process());
        }
        let mut work = String::new();
        (0..60).for_each(|i| writeln!(work, "create t{i}").unwrap());
        (0..59).for_each(|i| writeln!(work, "link t{i} t{} {i}", i + 1).unwrap());
        work.push_str("unlink t5 t6\ndestroy t50\ncreate t7\nlink t1 t2 3\n");
        let worked = storm.asked(&work);
        let before = storm.asked("topics\nlinks\n");

        // It is killed while topics are made.
        let mut busy = storm.admin();
        let mut commands = busy.stdin.take().unwrap();
        (0..400).for_each(|i| writeln!(commands, "create late{i}").unwrap());
        drop(commands);
        server.wait_for(|| storm.asked("topics").1.contains("late").then_some(()));
        server.kill();
        let _ = busy.kill();
        busy.wait().unwrap();
        let server = storm.start();
        let after = storm.asked("topics\nlinks\n");
        let (late, kept): (Vec<&str>, Vec<&str>) = after.1.lines().partition(|line| line.starts_with("late"));
        assert!(!late.is_empty(), "{after:?}");
        assert_eq!(kept, before.1.lines().collect::<Vec<_>>());
        server.stop();
        if library == Library::Ours {
            library::assert_clean(&place.path().join("db/data.mdb"));
        }
        (worked, before)
    });
    assert_eq!(stock, ours);
    let lists = |line: &str| ours.1.1.lines().any(|found| found == line);
    assert!(
        lists("t59") && !lists("t50") && lists("t58 to t59 with cost 58") && !lists("t5 to t6 with cost 5"),
        "{ours:?}"
    );
}
