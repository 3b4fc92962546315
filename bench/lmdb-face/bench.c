/* The same work on whichever liblmdb.so.0 the loader finds.
 *
 *   bench DIRECTORY N [habits|small]
 *   bench DIRECTORY SEED random
 *
 * One table of N records (here), the habits of programs (habits.c), small tables and transactions (small.c), all if not told otherwise;
 * or what is chosen at random (random.c). Prints one line for each kind of work: its name, a tab, operations in a second. Keys are 16 bytes, made from their
 * numbers; values 100. Contents are added up, so that every value is touched. */
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { PROCESSES = 16 };

volatile uint64_t sum;

static MDB_dbi main_db(MDB_env *env) {
	MDB_txn *txn = begin(env, MDB_RDONLY);
	MDB_dbi dbi;
	MUST(mdb_dbi_open(txn, NULL, 0, &dbi));
	MUST(mdb_txn_commit(txn));
	return dbi;
}

static void load(MDB_env *env, MDB_dbi dbi, uint64_t n) {
	double began = now();
	for (uint64_t i = 0; i < n;) {
		MDB_txn *txn = begin(env, 0);
		for (uint64_t end = i + 100000 < n ? i + 100000 : n; i < end; i++) put(txn, dbi, i, 0);
		MUST(mdb_txn_commit(txn));
	}
	say("load, 100,000 puts a transaction", began, n);
}

static void get(MDB_txn *txn, MDB_dbi dbi, uint64_t n) {
	unsigned char key[KEY];
	make_key(key, n);
	MDB_val k = {KEY, key}, v;
	MUST(mdb_get(txn, dbi, &k, &v));
	touch(&v);
}

static void gets(MDB_env *env, MDB_dbi dbi, uint64_t n) {
	MDB_txn *txn = begin(env, MDB_RDONLY);
	for (int timed = 0; timed < 2; timed++) {
		double began = now();
		for (uint64_t i = 0; i < n; i++) get(txn, dbi, mixed(i + timed) % n);
		if (timed) say("random get", began, n);
	}
	double began = now();
	for (uint64_t i = 0; i < n; i++) {
		mdb_txn_reset(txn);
		MUST(mdb_txn_renew(txn));
		get(txn, dbi, mixed(i + 2) % n);
	}
	say("renew and get", began, n);
	mdb_txn_abort(txn);
	began = now();
	for (uint64_t i = 0; i < n; i++) {
		txn = begin(env, MDB_RDONLY);
		get(txn, dbi, mixed(i + 3) % n);
		mdb_txn_abort(txn);
	}
	say("begin, get and abort", began, n);
}

static void scans(MDB_env *env, MDB_dbi dbi) {
	MDB_txn *txn = begin(env, MDB_RDONLY);
	MDB_cursor *cursor;
	MDB_val k, v;
	uint64_t count = 0;
	MUST(mdb_cursor_open(txn, dbi, &cursor));
	double began = now();
	for (int round = 0; round < 5; round++)
		for (int rc = mdb_cursor_get(cursor, &k, &v, MDB_FIRST); !rc; rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT)) {
			touch(&v);
			count++;
		}
	say("cursor scan", began, count);
	count = 0;
	began = now();
	for (int rc = mdb_cursor_get(cursor, &k, &v, MDB_LAST); !rc; rc = mdb_cursor_get(cursor, &k, &v, MDB_PREV)) {
		touch(&v);
		count++;
	}
	say("cursor scan backwards", began, count);
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
}

/* Puts over existing keys, `each` in a transaction, for about two seconds. */
static void puts_for(MDB_env *env, MDB_dbi dbi, uint64_t n, uint64_t each, const char *name) {
	uint64_t count = 0;
	double began = now();
	while (now() - began < 2) {
		MDB_txn *txn = begin(env, 0);
		for (uint64_t i = 0; i < each; i++, count++) put(txn, dbi, mixed(count + each) % n, count + 1);
		MUST(mdb_txn_commit(txn));
	}
	if (name) say(name, began, count);
}

static void processes(const char *path, uint64_t n) {
	int pipes[2];
	if (pipe(pipes)) exit(1);
	double began = now();
	for (int p = 0; p < PROCESSES; p++) {
		if (fork()) continue;
		MDB_env *env = open_env(path, 0);
		MDB_dbi dbi = main_db(env);
		uint64_t count = 0;
		for (; now() - began < 3; count++) {
			MDB_txn *txn = begin(env, 0);
			put(txn, dbi, mixed(count * PROCESSES + p) % n, count);
			MUST(mdb_txn_commit(txn));
		}
		mdb_env_close(env);
		_exit(write(pipes[1], &count, sizeof count) != sizeof count);
	}
	uint64_t total = 0, count;
	for (int p = 0; p < PROCESSES; p++) {
		int status;
		wait(&status);
		if (status || read(pipes[0], &count, sizeof count) != sizeof count) exit(1);
		total += count;
	}
	say("16 processes, each a durable put", began, total);
}

static void one_table(const char *path, uint64_t n) {
	MDB_env *env = open_env(path, MDB_NOSYNC);
	MDB_dbi dbi = main_db(env);
	load(env, dbi, n);
	MUST(mdb_env_sync(env, 1));
	gets(env, dbi, n);
	scans(env, dbi);
	puts_for(env, dbi, n, 1, "put, NOSYNC");
	puts_for(env, dbi, n, 100, "100 puts a transaction, NOSYNC");
	MUST(mdb_env_sync(env, 1));
	mdb_env_close(env);

	env = open_env(path, 0);
	dbi = main_db(env);
	puts_for(env, dbi, n, 1, "durable put");
	puts_for(env, dbi, n, 100, "100 puts a durable transaction");
	mdb_env_close(env);
	processes(path, n);
}

int main(int argc, char **argv) {
	const char *only = argc == 4 ? argv[3] : "";
	if (argc < 3 || argc > 4 || (*only && strcmp(only, "habits") && strcmp(only, "small") && strcmp(only, "random"))) return 2;
	uint64_t n = strtoull(argv[2], NULL, 10);
	if (!strcmp(only, "random")) {
		at_random(argv[1], n);
		return 0;
	}
	if (!*only) one_table(argv[1], n);
	if (strcmp(only, "small")) habits(argv[1], n);
	if (strcmp(only, "habits")) small(argv[1]);
	return 0;
}
