# Two commands for a fresh machine: `make demo` shows what Duramen does, `make test` proves it.
# Both install what they need first (Rust by rustup, Debian packages by apt-get).

CARGO_TARGET_DIR ?= target
export CARGO_TARGET_DIR
export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: help demo test setup

help:
	@echo "make demo   load Debian's package index, query it, check it"
	@echo "make test   format, lints, all tests"

demo:
	@scripts/setup
	cargo build --release -p duramen-cli
	cargo build --release -p duramen --example package_index
	@scripts/demo "$(CARGO_TARGET_DIR)/release" "$(CARGO_TARGET_DIR)/demo"

# LMDB itself: the text format, the C interface and its tools are tested against it. Programs built for it.
setup:
	@scripts/setup mdb_dump=lmdb-utils /usr/include/lmdb.h=liblmdb-dev nm=binutils \
		postmap=postfix /usr/lib/postfix/postfix-lmdb.so=postfix-lmdb knotd=knot slapd=slapd ldapsearch=ldap-utils \
		pdns_server=pdns-server /usr/share/doc/pdns-backend-lmdb/copyright=pdns-backend-lmdb \
		/usr/bin/python3-config=python3-dev /usr/bin/pytest-3=python3-pytest \
		/usr/lib/python3/dist-packages/pip/__init__.py=python3-pip

test: setup
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo test --workspace
