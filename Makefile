# Two commands for a fresh machine: `make demo` shows what Duramen does, `make test` proves it. And `make install`.
# All install what they need first (Rust by rustup, Debian packages by apt-get).

CARGO_TARGET_DIR ?= target
export CARGO_TARGET_DIR
export PATH := $(PATH):$(HOME)/.cargo/bin

# Where `make install` puts things: see scripts/install. The profiles that are built, and the directories of these.
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
# What stands for LMDB keeps to itself: in the system's own directories it would take the place of LMDB for every program.
LIBDIR ?= $(PREFIX)/lib/duramen
INCLUDEDIR ?= $(PREFIX)/lib/duramen/include
TOOLSDIR ?= $(PREFIX)/lib/duramen/bin
MANDIR ?= $(PREFIX)/lib/duramen/share/man
LIBRARY_PROFILE ?= shared
PROGRAM_PROFILE ?= release
LIBRARIES = $(CARGO_TARGET_DIR)/$(LIBRARY_PROFILE:dev=debug)
PROGRAMS = $(CARGO_TARGET_DIR)/$(PROGRAM_PROFILE:dev=debug)

PLACES = DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" BINDIR="$(BINDIR)" LIBDIR="$(LIBDIR)" INCLUDEDIR="$(INCLUDEDIR)" \
	TOOLSDIR="$(TOOLSDIR)" MANDIR="$(MANDIR)"

.PHONY: help demo demo-engine build install uninstall test setup

help:
	@echo "make demo   a directory of 10,000 people, served and asked over LDAP"
	@echo "make demo-engine   the storage engine alone: Debian's package index loaded, queried, checked"
	@echo "make test   format, lints, documentation, all tests"
	@echo "make build; sudo make install [PREFIX=/usr/local] [DESTDIR=] [LIBDIR=...]"
	@echo "            the commands duramen and duramend; in PREFIX/lib/duramen LMDB's libraries and tools"
	@echo "sudo make uninstall [...]   takes them away again"

demo:
	@scripts/setup ldapsearch=ldap-utils
	cargo build --release -p duramen-cli -p duramen-server
	cargo build --release -p duramen-server --example sample_directory
	@scripts/demo "$(CARGO_TARGET_DIR)/release" "$(CARGO_TARGET_DIR)/demo"

demo-engine:
	@scripts/setup
	cargo build --release -p duramen-cli
	cargo build --release -p duramen --example package_index
	@scripts/demo-engine "$(CARGO_TARGET_DIR)/release" "$(CARGO_TARGET_DIR)/demo-engine"

build:
	@scripts/setup
	cargo build --profile $(LIBRARY_PROFILE) -p duramen-liblmdb0 -p duramen-liblmdb1
	cargo build --profile $(PROGRAM_PROFILE) -p duramen-cli -p duramen-server -p duramen-lmdb-tools

# By sudo only what the user has built: root needs no Rust for it, and nothing of root's is left in the user's directories.
install:
	@[ -n "$$SUDO_USER" ] || $(MAKE) --no-print-directory build
	@$(PLACES) scripts/install "$(LIBRARIES)" "$(PROGRAMS)"

uninstall:
	@$(PLACES) scripts/uninstall

# LMDB itself: the text format, the C interface and its tools are tested against it. Programs built for it.
# Clients of the directory server, and what the tests fetch others with.
setup:
	@scripts/setup mdb_dump=lmdb-utils /usr/include/lmdb.h=liblmdb-dev nm=binutils c++=g++ pkg-config=pkg-config \
		mkfs.btrfs=btrfs-progs valgrind=valgrind abidiff=abigail-tools named=bind9 rndc=bind9-utils ldbadd=ldb-tools \
		/usr/share/doc/liblmdb-file-perl/copyright=liblmdb-file-perl php=php-cli /etc/php/8.2/mods-available/dba.ini=php-dba \
		postmap=postfix /usr/lib/postfix/postfix-lmdb.so=postfix-lmdb knotd=knot kresd=knot-resolver \
		slapd=slapd /usr/lib/ldap/pw-pbkdf2.so=slapd-contrib ldapsearch=ldap-utils openssl=openssl \
		pdns_server=pdns-server /usr/share/doc/pdns-backend-lmdb/copyright=pdns-backend-lmdb \
		icebox=zeroc-icebox icestormadmin=zeroc-ice-utils /usr/share/doc/libzeroc-icestorm3.7/copyright=libzeroc-icestorm3.7 \
		/usr/bin/python3-config=python3-dev /usr/bin/pytest-3=python3-pytest \
		/usr/lib/python3/dist-packages/pip/__init__.py=python3-pip \
		/usr/lib/python3/dist-packages/ldap/__init__.py=python3-ldap \
		/usr/lib/python3/dist-packages/ldap3/__init__.py=python3-ldap3 \
		/usr/share/perl5/Net/LDAP.pm=libnet-ldap-perl /usr/share/perl5/IO/Socket/SSL.pm=libio-socket-ssl-perl \
		/usr/share/perl5/Authen/SASL.pm=libauthen-sasl-perl /etc/php/8.2/mods-available/ldap.ini=php-ldap \
		/usr/lib/postfix/postfix-ldap.so=postfix-ldap \
		go=golang-go systemd-analyze=systemd node=nodejs npm=npm javac=default-jdk-headless mvn=maven \
		escript=erlang-base /usr/share/doc/erlang-eldap/copyright=erlang-eldap

test: setup
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps
	cargo test --workspace
