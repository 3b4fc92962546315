#!/usr/bin/python3
"""What it costs that several servers take changes together: updates a second at one of them, alone and with others that follow it, the
processor time of each server for an update, and how long it takes until the last one has a change.

    bench/directory/several.py target/release/duramend [SECONDS [TURNS]]     # needs python3-ldap
"""

import multiprocessing
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import ldap

SUFFIX, ADMINISTRATOR, PASSWORD = "dc=example,dc=com", "cn=admin,dc=example,dc=com", "correct horse"
PEOPLE = 1000


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def client(port):
    connection = ldap.initialize(f"ldap://127.0.0.1:{port}")
    connection.simple_bind_s(ADMINISTRATOR, PASSWORD)
    return connection


def person(number):
    return f"uid=u{number % PEOPLE},{SUFFIX}"


class Member:
    """A server, one of those at these ports."""

    def __init__(self, program, folder, number, ports):
        os.makedirs(folder)
        others = [f"ldap://127.0.0.1:{port}" for port in ports if port != ports[number]]
        section = (
            f"[replica]\ntakes_changes = true\nserver_id = {number + 1}\nproviders = [{', '.join(map(repr, others))}]\n"
            f'bind = "{ADMINISTRATOR}"\npassword_file = "password"\nretry_seconds = 1\n'
        )
        with open(f"{folder}/password", "w") as file:
            file.write(PASSWORD)
        with open(f"{folder}/duramend.toml", "w") as file:
            file.write(
                f'data = "data"\nsuffixes = ["{SUFFIX}"]\n'
                f'administrator = {{ name = "{ADMINISTRATOR}", password = "{PASSWORD}" }}\n'
                f'[listen]\nldap = ["127.0.0.1:{ports[number]}"]\n[sync]\nchanges = 1000000\n{section if others else ""}'
            )
        self.port = ports[number]
        log = open(f"{folder}/log", "w")
        self.process = subprocess.Popen([program, "serve", "--config", f"{folder}/duramend.toml"], stderr=log)
        while socket.socket().connect_ex(("127.0.0.1", self.port)):
            time.sleep(0.05)

    def seconds(self):
        """Processor time so far."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def numbers(self):
        try:
            found = client(self.port).search_s(SUFFIX, ldap.SCOPE_BASE, "(objectClass=*)", ["contextCSN"])
        except ldap.LDAPError:
            return None
        return sorted(found[0][1].get("contextCSN", [])) if found else None


def fill(port):
    connection = client(port)
    connection.add_s(SUFFIX, [("objectClass", [b"domain"]), ("dc", [b"example"])])
    for number in range(PEOPLE):
        uid = b"u%d" % number
        connection.add_s(
            person(number), [("objectClass", [b"inetOrgPerson"]), ("uid", [uid]), ("cn", [b"Name of " + uid]), ("sn", [b"S"])]
        )


def change(port, first, step, end, done):
    connection, count = client(port), 0
    while time.time() < end:
        values = [(ldap.MOD_REPLACE, "description", [b"%d" % count])]
        connection.modify_s(person(first + count * step), values)
        count += 1
    done.put(count)


def load(port, clients, seconds):
    done, end = multiprocessing.Queue(), time.time() + seconds
    changers = [multiprocessing.Process(target=change, args=(port, n, clients, end, done)) for n in range(clients)]
    for changer in changers:
        changer.start()
    total = sum(done.get() for _ in changers)
    for changer in changers:
        changer.join()
    return total


def wait_for_same(members):
    began = time.time()
    while len({str(member.numbers()) for member in members}) > 1 or members[0].numbers() is None:
        time.sleep(0.002)
    return time.time() - began


def delays(members):
    """How long single changes take to the last one, in milliseconds."""
    here, there, each = client(members[0].port), client(members[-1].port), []
    for number in range(100):
        here.modify_s(person(number), [(ldap.MOD_REPLACE, "title", [b"t%d" % number])])
        began = time.time()
        while not there.search_s(person(number), ldap.SCOPE_BASE, f"(title=t{number})", ["1.1"]):
            pass
        each.append((time.time() - began) * 1000)
    return each


def turn(program, count, clients, seconds):
    with tempfile.TemporaryDirectory() as folder:
        ports = [free_port() for _ in range(count)]
        members = [Member(program, f"{folder}/{number}", number, ports) for number in range(count)]
        try:
            fill(members[0].port)
            wait_for_same(members)
            before = [member.seconds() for member in members]
            done = load(members[0].port, clients, seconds)
            behind = wait_for_same(members) * 1000
            costs = [(member.seconds() - spent) / done * 1e6 for member, spent in zip(members, before)]
            return done / seconds, costs, behind, delays(members) if count > 1 and clients == 1 else []
        finally:
            for member in members:
                member.process.terminate()
                member.process.wait()


def main():
    program, seconds, turns = sys.argv[1], float((sys.argv[2:] or [5])[0]), int((sys.argv[3:] or [3])[0])
    for clients in (1, 16):
        found = {count: [] for count in (1, 2, 3)}
        for _ in range(turns):
            for count, results in found.items():
                results.append(turn(program, count, clients, seconds))
        for count, results in found.items():
            rates, costs, behind, single = zip(*results)
            single = sorted(sum(single, []))
            text = f"{clients} clients, {count} servers: {statistics.median(rates):.0f}/s ({min(rates):.0f} to {max(rates):.0f})"
            text += f"; CPU us {', '.join(f'{statistics.median(cost):.0f}' for cost in zip(*costs))}"
            text += f"; behind at the end by {statistics.median(behind):.0f} ms"
            if single:
                text += f"; one change: median {single[len(single) // 2]:.1f} ms, 99% {single[len(single) * 99 // 100]:.1f} ms"
            print(text, flush=True)


main()
