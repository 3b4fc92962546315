//! Scripts: Perl's LMDB_File, and PHP's dba with its handler for LMDB.
//!
//! Each script does what it is told by its first argument, in the environment that the second names: `work` prints all
//! that it is answered; `die` commits something, begins something else, says so and waits; `look` prints what is there.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use crate::library::{self, BOTH, Library, Way};

const PERL: &str = r#"
use strict; use warnings; use LMDB_File qw(:flags :cursor_op :error);
my ($what, $path) = @ARGV;
my $env = LMDB::Env->new($path, { mapsize => 8 << 20, maxdbs => 8, mode => 0600 });
$LMDB_File::die_on_err = 0;
sub show {
    my ($db, $cursor, $key, $data) = ($_[0], $_[0]->Cursor, '', '');
    while ($cursor->get($key, $data, MDB_NEXT) == 0) { print "$key=$data;" }
    print "\n";
}
if ($what eq 'look') {
    my $txn = $env->BeginTxn(MDB_RDONLY);
    show($txn->OpenDB({ dbname => 'plain' }));
    exit 0;
}
my $txn = $env->BeginTxn();
my $db = $txn->OpenDB({ dbname => 'plain', flags => MDB_CREATE });
if ($what eq 'die') {
    $db->put("committed $_", $_) for 1 .. 50;
    $txn->commit;
    $txn = $env->BeginTxn();
    $txn->OpenDB({ dbname => 'plain' })->put("lost $_", $_) for 1 .. 50;
    $| = 1; print "ready\n"; <STDIN>; exit 0;
}
$db->put("key $_", "value " . $_ * 7) for 1 .. 200;
my ($held, $other) = ('', 'other');
print $db->put('key 5', $other, MDB_NOOVERWRITE), ' ', $db->get('key 5', $held), " $held\n";
print $db->del('key 6'), $db->del('key 6'), $db->get('key 6', $held), "\n";
my $sub = $txn->SubTxn; my $in_sub = $sub->OpenDB({ dbname => 'plain' });
$in_sub->put('key 8', 'of the child'); $sub->abort;
print $db->get('key 8', $held), " $held\n";
my $dup = $txn->OpenDB({ dbname => 'dup', flags => MDB_CREATE | MDB_DUPSORT });
$dup->put($_ % 3, "number $_") for 1 .. 30;
my $cursor = $dup->Cursor; my ($k, $v, $count) = (1, '', 0);
print $cursor->get($k, $v, MDB_SET_RANGE), " $k $v ", $cursor->count($count), " $count\n";
while ($cursor->get($k, $v, MDB_NEXT_DUP) == 0) { print "$v " }
undef $cursor; print "\n"; show($dup);
my $back = $txn->OpenDB({ dbname => 'back', flags => MDB_CREATE });
$back->set_compare(sub { $b cmp $a });
$back->put("b$_", $_) for 1 .. 9;
show($back);
my $stat = $db->stat; print "$stat->{entries} $stat->{psize}\n";
print $txn->commit // 'done', "\n";
my $info = $env->info; print "$info->{mapsize} $info->{last_txnid}\n";
"#;

const PHP: &str = r#"<?php
[, $what, $path] = $argv;
$db = dba_open("$path/it", $what === 'look' ? 'r' : 'c', 'lmdb', 0600, 8 << 20);
function show($db) {
    for ($key = dba_firstkey($db); $key !== false; $key = dba_nextkey($db)) echo $key, '=', dba_fetch($key, $db), ';';
    echo "\n";
}
if ($what === 'look') { show($db); exit(0); }
if ($what === 'die') {
    for ($i = 0; $i < 50; $i++) dba_replace("committed $i", "value $i", $db);
    echo "ready\n"; fgets(STDIN); exit(0);
}
for ($i = 0; $i < 200; $i++) echo (int)dba_insert("key $i", 'value ' . $i * 7, $db);
echo (int)@dba_insert('key 5', 'other', $db), dba_fetch('key 5', $db), "\n";
echo (int)dba_replace('key 5', str_repeat('long ', 2000), $db), strlen(dba_fetch('key 5', $db)), "\n";
echo (int)dba_delete('key 6', $db), (int)dba_delete('key 6', $db), (int)dba_exists('key 6', $db), (int)dba_exists('key 7', $db), "\n";
echo (int)dba_sync($db), (int)dba_optimize($db), "\n";
show($db);
dba_close($db);
"#;

/// Runs one script on both libraries, and kills it on ours.
fn assert_same(interpreter: &str, source: &str, file: &str) {
    let [stock, ours] = BOTH.map(|library| {
        let place = library::place();
        let script = place.path().join("script");
        std::fs::write(&script, source).unwrap();
        let run = |what: &str| {
            let arguments = [script.as_os_str(), what.as_ref(), place.path().as_os_str()];
            library.run(Way::Linked, interpreter, &arguments)
        };
        let worked = run("work");
        let looked = run("look").well();
        killed(library, interpreter, &script, place.path());
        let after = run("look").well();
        if library == Library::Ours {
            library::assert_clean(&place.path().join(file));
        }
        ((worked.code, worked.out), looked, after)
    });
    assert_eq!(stock, ours);
    assert_eq!((ours.0.0, ours.2.contains("lost")), (Some(0), false), "{ours:?}");
    assert!(ours.1.contains("key 99=value ") && ours.2.contains("committed 49"), "{ours:?}");
}

/// Lets the script do what it does before it waits, and kills it.
fn killed(library: Library, interpreter: &str, script: &Path, place: &Path) {
    let mut command = library.command(Way::Linked, interpreter);
    command.arg(script).arg("die").arg(place).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    if library == Library::Ours {
        library::assert_mapped(child.id());
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn perls_lmdb_file_answers_as_with_lmdb() {
    assert_same("perl", PERL, "data.mdb");
}

#[test]
fn phps_dba_answers_as_with_lmdb() {
    assert_same("php", PHP, "it");
}
