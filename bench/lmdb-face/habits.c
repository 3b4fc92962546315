/* What programs do beside getting and putting single entries: indexes with duplicates, cursors that write, loads in
 * order, many tables, nested transactions, opening and closing. All in an environment without flushes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

enum { DUPLICATES = 10, TABLES = 100, LARGE = 20000, BATCH = 1000, ROUNDS = 5 };

/* Calls `work` with 0 to n - 1, in transactions of so many calls. */
static void written(MDB_env *env, uint64_t n, uint64_t each, const char *name,
                    void (*work)(MDB_txn *, MDB_dbi, uint64_t), MDB_dbi dbi) {
	double began = now();
	for (uint64_t i = 0; i < n;) {
		MDB_txn *txn = begin(env, 0);
		for (uint64_t end = i + each < n ? i + each : n; i < end; i++) work(txn, dbi, i);
		MUST(mdb_txn_commit(txn));
	}
	say(name, began, n);
}

/* Entry i of an index: the values of a key lie apart in time, as records come in. */
static void index_entry(uint64_t i, uint64_t keys, unsigned char key[KEY], unsigned char value[KEY]) {
	make_key(key, i % keys);
	make_key(value, ~i);
}

static uint64_t index_keys;

static void put_index(MDB_txn *txn, MDB_dbi dbi, uint64_t i) {
	unsigned char key[KEY], value[KEY];
	index_entry(i, index_keys, key, value);
	MDB_val k = {KEY, key}, v = {KEY, value};
	MUST(mdb_put(txn, dbi, &k, &v, 0));
}

static void put_known(MDB_txn *txn, MDB_dbi dbi, uint64_t i) {
	unsigned char key[KEY], value[KEY];
	index_entry(i, index_keys, key, value);
	MDB_val k = {KEY, key}, v = {KEY, value};
	int rc = mdb_put(txn, dbi, &k, &v, MDB_NODUPDATA);
	if (rc != MDB_KEYEXIST) MUST(rc ? rc : MDB_PANIC);
}

static void del_index(MDB_txn *txn, MDB_dbi dbi, uint64_t i) {
	unsigned char key[KEY], value[KEY];
	index_entry(i, index_keys, key, value);
	MDB_val k = {KEY, key}, v = {KEY, value};
	MUST(mdb_del(txn, dbi, &k, &v));
}

/* Every value of a key, as an index is read. */
static uint64_t values_of(MDB_cursor *cursor, uint64_t i, MDB_cursor_op first) {
	unsigned char key[KEY];
	make_key(key, mixed(i) % index_keys);
	MDB_val k = {KEY, key}, v;
	uint64_t count = 0;
	for (int rc = mdb_cursor_get(cursor, &k, &v, first); !rc; rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT_DUP)) {
		touch(&v);
		count++;
	}
	return count;
}

static void read_index(MDB_env *env, MDB_dbi dbi) {
	MDB_txn *txn = begin(env, MDB_RDONLY);
	MDB_cursor *cursor = cursor_on(txn, dbi);
	MDB_val k, v;
	uint64_t count = 0;
	double began = now();
	for (uint64_t i = 0; i < index_keys; i++) count += values_of(cursor, i, MDB_SET);
	say("index: set, next_dup", began, count);
	began = now();
	for (uint64_t i = count = 0; i < index_keys; i++) count += values_of(cursor, i, MDB_SET_RANGE);
	say("index: set_range, next_dup", began, count);
	began = now();
	for (uint64_t i = 0; i < index_keys; i++) {
		unsigned char key[KEY], value[KEY];
		index_entry(mixed(i) % (index_keys * DUPLICATES), index_keys, key, value);
		k = (MDB_val){KEY, key}, v = (MDB_val){KEY, value};
		MUST(mdb_cursor_get(cursor, &k, &v, MDB_GET_BOTH));
	}
	say("index: get_both", began, index_keys);
	began = now(), count = 0;
	for (int rc, round = 0; round < ROUNDS; round++)
		for (rc = mdb_cursor_get(cursor, &k, &v, MDB_FIRST); !rc; rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT)) {
			touch(&v);
			count++;
		}
	say("index: scan", began, count);
	began = now(), count = 0;
	for (int rc, round = 0; round < ROUNDS; round++)
		for (rc = mdb_cursor_get(cursor, &k, &v, MDB_LAST); !rc; rc = mdb_cursor_get(cursor, &k, &v, MDB_PREV_NODUP)) {
			size_t values;
			MUST(mdb_cursor_count(cursor, &values));
			sum += values;
			count++;
		}
	say("index: prev_nodup, count", began, count);
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
}

/* Removes every other value of all keys as a cursor comes by; nothing of it is kept. */
static void del_passing(MDB_env *env, MDB_dbi dbi, const char *name) {
	MDB_txn *txn = begin(env, 0);
	MDB_cursor *cursor = cursor_on(txn, dbi);
	MDB_val k, v;
	uint64_t count = 0;
	double began = now();
	for (uint64_t i = 0; !mdb_cursor_get(cursor, &k, &v, MDB_NEXT); i++) {
		if (i % 2) continue;
		MUST(mdb_cursor_del(cursor, 0));
		count++;
	}
	say(name, began, count);
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
}

static void read_multiple(MDB_env *env, MDB_dbi dbi) {
	MDB_txn *txn = begin(env, MDB_RDONLY);
	MDB_cursor *cursor = cursor_on(txn, dbi);
	MDB_val k, v;
	uint64_t count = 0;
	double began = now();
	for (int rc, round = 0; round < ROUNDS; round++)
		for (rc = mdb_cursor_get(cursor, &k, &v, MDB_FIRST); !rc; rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT_NODUP))
			for (int more = mdb_cursor_get(cursor, &k, &v, MDB_GET_MULTIPLE); !more;
			     more = mdb_cursor_get(cursor, &k, &v, MDB_NEXT_MULTIPLE)) {
				touch(&v);
				count += v.mv_size / KEY;
			}
	say("fixed index: get_multiple", began, count);
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
}

static void indexes(MDB_env *env, uint64_t n) {
	index_keys = n / DUPLICATES;
	MDB_dbi dbi = table(env, "index", MDB_DUPSORT);
	written(env, index_keys * DUPLICATES, BATCH, "index: put", put_index, dbi);
	written(env, index_keys, BATCH, "index: put what is there, NODUPDATA", put_known, dbi);
	read_index(env, dbi);
	del_passing(env, dbi, "index: next, del of every other value");
	written(env, index_keys, BATCH, "index: del of a value", del_index, dbi);
	dbi = table(env, "fixed index", MDB_DUPSORT | MDB_DUPFIXED);
	written(env, index_keys * DUPLICATES, BATCH, "fixed index: put", put_index, dbi);
	read_multiple(env, dbi);
	del_passing(env, dbi, "fixed index: next, del of every other value");
}

static void put_over(MDB_txn *txn, MDB_dbi dbi, uint64_t i) { put(txn, dbi, i, 1); }

static void put_there(MDB_txn *txn, MDB_dbi dbi, uint64_t i) {
	unsigned char key[KEY], value[VALUE] = {1};
	make_key(key, i);
	MDB_val k = {KEY, key}, v = {VALUE, value};
	int rc = mdb_put(txn, dbi, &k, &v, MDB_NOOVERWRITE);
	if (rc != MDB_KEYEXIST) MUST(rc ? rc : MDB_PANIC);
	touch(&v);
}

static void append(MDB_txn *txn, MDB_dbi dbi, uint64_t i) {
	unsigned char value[VALUE] = {(unsigned char)i};
	uint64_t key = __builtin_bswap64(i);
	MDB_val k = {sizeof key, &key}, v = {VALUE, value};
	MUST(mdb_put(txn, dbi, &k, &v, MDB_APPEND));
}

static void reserve(MDB_txn *txn, MDB_dbi dbi, uint64_t i) {
	uint64_t key = mixed(i);
	MDB_val k = {sizeof key, &key}, v = {LARGE, NULL};
	MUST(mdb_put(txn, dbi, &k, &v, MDB_RESERVE));
	memset(v.mv_data, (int)i, v.mv_size);
}

static void del(MDB_txn *txn, MDB_dbi dbi, uint64_t i) {
	unsigned char key[KEY];
	make_key(key, i);
	MDB_val k = {KEY, key};
	MUST(mdb_del(txn, dbi, &k, NULL));
}

/* Walks over the table while writing: looks only, changes every value, deletes every second entry. */
static void cursors_that_write(MDB_env *env, MDB_dbi dbi) {
	MDB_val k, v;
	for (int kind = 0; kind < 3; kind++) {
		static const char *const names[] = {"scan in a write transaction", "scan and cursor_put, CURRENT",
		                                    "scan and cursor_del of every second"};
		uint64_t count = 0;
		double began = now();
		MDB_txn *txn = begin(env, 0);
		MDB_cursor *cursor = cursor_on(txn, dbi);
		for (int rc = mdb_cursor_get(cursor, &k, &v, MDB_FIRST); !rc; rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT)) {
			unsigned char value[VALUE] = {(unsigned char)count};
			MDB_val given = {VALUE, value};
			touch(&v);
			count++;
			if (kind == 1) MUST(mdb_cursor_put(cursor, &k, &given, MDB_CURRENT));
			if (kind == 2 && count % 2) MUST(mdb_cursor_del(cursor, 0));
		}
		mdb_cursor_close(cursor);
		MUST(mdb_txn_commit(txn));
		say(names[kind], began, count);
	}
}

static void cursor_gets(MDB_env *env, MDB_dbi dbi, uint64_t n) {
	MDB_txn *txn = begin(env, MDB_RDONLY);
	MDB_cursor *cursor = cursor_on(txn, dbi);
	for (int kind = 0; kind < 3; kind++) {
		static const char *const names[] = {"get by cursor, SET_KEY", "cursor, SET_RANGE and 10 NEXT",
		                                    "open a cursor, SET, close"};
		double began = now();
		for (uint64_t i = 0; i < n; i++) {
			unsigned char key[KEY];
			make_key(key, mixed(i) % n);
			MDB_val k = {KEY, key}, v;
			if (kind == 2) mdb_cursor_close(cursor), cursor = cursor_on(txn, dbi);
			MUST(mdb_cursor_get(cursor, &k, &v, kind == 0 ? MDB_SET_KEY : kind == 1 ? MDB_SET_RANGE : MDB_SET));
			touch(&v);
			for (int step = 0; kind == 1 && step < 10 && !mdb_cursor_get(cursor, &k, &v, MDB_NEXT); step++) touch(&v);
		}
		say(names[kind], began, n);
	}
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
}

static void drop(MDB_env *env, MDB_dbi dbi, const char *name, uint64_t n) {
	double began = now();
	MDB_txn *txn = begin(env, 0);
	MUST(mdb_drop(txn, dbi, 0));
	MUST(mdb_txn_commit(txn));
	say(name, began, n);
}

static void entries(MDB_env *env, uint64_t n) {
	MDB_dbi dbi = table(env, "entries", 0), large = table(env, "large", 0), sorted = table(env, "sorted", 0);
	written(env, n, n, "append in order, one transaction", append, sorted);
	drop(env, sorted, "drop, entries", n);
	written(env, n, BATCH, "append in order", append, sorted);
	written(env, n / 20, 10, "put of 20,000 bytes, RESERVE", reserve, large);
	written(env, n, BATCH, "put of new entries", put_over, dbi);
	written(env, n, BATCH, "put over entries", put_over, dbi);
	written(env, n, BATCH, "put of what is there, NOOVERWRITE", put_there, dbi);
	cursor_gets(env, dbi, n);
	written(env, n / 2, BATCH, "del", del, dbi);
	cursors_that_write(env, dbi);
}

static void stats(MDB_env *env, MDB_dbi dbi) {
	enum { TIMES = 1000000 };
	MDB_txn *txn = begin(env, MDB_RDONLY);
	MDB_stat stat;
	MDB_envinfo info;
	double began = now();
	for (int i = 0; i < TIMES; i++) MUST(mdb_stat(txn, dbi, &stat));
	say("mdb_stat", began, TIMES);
	mdb_txn_abort(txn);
	began = now();
	for (int i = 0; i < TIMES; i++) {
		MUST(mdb_env_stat(env, &stat));
		MUST(mdb_env_info(env, &info));
	}
	say("mdb_env_stat, mdb_env_info", began, TIMES);
}

/* Many tables: each transaction reads one entry of each, or writes one into each of ten. */
static void many_tables(MDB_env *env) {
	enum { TIMES = 5000, WRITTEN = 10 };
	MDB_dbi tables[TABLES];
	char name[16];
	uint64_t key = 1, value;
	MDB_val k = {sizeof key, &key}, v;
	for (int t = 0; t < TABLES; t++) {
		snprintf(name, sizeof name, "table %d", t);
		tables[t] = table(env, name, 0);
	}
	double began = now();
	for (uint64_t i = 0; i < TIMES; i++) {
		MDB_txn *txn = begin(env, 0);
		for (int t = 0; t < WRITTEN; t++) {
			value = i, v = (MDB_val){sizeof value, &value};
			MUST(mdb_put(txn, tables[(mixed(i) + t) % TABLES], &k, &v, 0));
		}
		MUST(mdb_txn_commit(txn));
	}
	say("puts into 10 of 100 tables a transaction", began, TIMES * WRITTEN);
	began = now();
	for (int i = 0; i < TIMES; i++) {
		MDB_txn *txn = begin(env, MDB_RDONLY);
		for (int t = 0; t < TABLES; t++)
			if (!mdb_get(txn, tables[t], &k, &v)) touch(&v);
		mdb_txn_abort(txn);
	}
	say("gets from 100 tables a transaction", began, (uint64_t)TIMES * TABLES);
	began = now();
	for (int i = 0; i < TIMES * 10; i++) {
		MDB_txn *txn = begin(env, MDB_RDONLY);
		if (!mdb_get(txn, tables[i % TABLES], &k, &v)) touch(&v);
		mdb_txn_abort(txn);
	}
	say("begin, get from one of 100 tables, abort", began, TIMES * 10);
	began = now();
	for (int i = 0; i < TIMES * 10; i++) {
		MDB_txn *txn = begin(env, MDB_RDONLY);
		MDB_dbi dbi;
		snprintf(name, sizeof name, "table %d", i % TABLES);
		MUST(mdb_dbi_open(txn, name, 0, &dbi));
		if (!mdb_get(txn, dbi, &k, &v)) touch(&v);
		mdb_txn_abort(txn);
	}
	say("begin, dbi_open of an open table, get, abort", began, TIMES * 10);
}

static void nested(MDB_env *env, MDB_dbi dbi) {
	enum { TIMES = 20000, BEFORE = 100 };
	double began = now();
	for (int i = 0; i < TIMES;) {
		MDB_txn *outer = begin(env, 0), *inner;
		for (int each = 0; each < BEFORE; each++, i++) {
			MUST(mdb_txn_begin(env, outer, 0, &inner));
			put(inner, dbi, i, 2);
			if (i % 2) mdb_txn_abort(inner);
			else MUST(mdb_txn_commit(inner));
		}
		MUST(mdb_txn_commit(outer));
	}
	say("nested transactions of a put", began, TIMES);
}

static void empty_transactions(MDB_env *env) {
	enum { TIMES = 200000 };
	double began = now();
	for (int i = 0; i < TIMES; i++) mdb_txn_abort(begin(env, MDB_RDONLY));
	say("begin and abort, reading", began, TIMES);
	began = now();
	for (int i = 0; i < TIMES; i++) MUST(mdb_txn_commit(begin(env, 0)));
	say("begin and commit, nothing written", began, TIMES);
}

static void openings(const char *path) {
	enum { TIMES = 1000 };
	double began = now();
	for (int i = 0; i < TIMES; i++) mdb_env_close(open_env(path, MDB_NOSYNC));
	say("open and close", began, TIMES);
	began = now();
	for (int i = 0; i < TIMES; i++) mdb_env_close(open_env(path, MDB_RDONLY));
	say("open and close, reading", began, TIMES);
	began = now();
	for (int i = 0; i < TIMES; i++) {
		MDB_env *env = open_env(path, MDB_NOSYNC);
		MDB_txn *txn = begin(env, 0);
		MDB_dbi dbi;
		MUST(mdb_dbi_open(txn, "entries", 0, &dbi));
		put(txn, dbi, i, i);
		MUST(mdb_txn_commit(txn));
		mdb_env_close(env);
	}
	say("open, put, close", began, TIMES);
}

static void put_one_of_thousand(MDB_txn *txn, MDB_dbi dbi, uint64_t i) { put(txn, dbi, mixed(i) % 1000, i); }

/* LMDB then commits without a call of the system. */
static void writable_map(const char *path) {
	char own[4096];
	snprintf(own, sizeof own, "%s/writable", path);
	if (mkdir(own, 0700)) exit(1);
	MDB_env *env = open_env(own, MDB_WRITEMAP | MDB_NOSYNC);
	written(env, 100000, 1, "put, WRITEMAP and NOSYNC", put_one_of_thousand, table(env, "entries", 0));
	mdb_env_close(env);
}

/* Has the kernel drop what it keeps of an environment's data. */
static void forget(const char *own) {
	char data[4200];
	snprintf(data, sizeof data, "%s/data.mdb", own);
	int file = open(data, O_RDONLY);
	if (file < 0 || fsync(file) || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED)) exit(1);
	close(file);
}

/* From the first entry to the last of a file that is not in memory. */
static void walk_cold(const char *own, unsigned flags, const char *name, int reads) {
	forget(own);
	MDB_env *env = open_env(own, MDB_RDONLY | flags);
	MDB_txn *txn = begin(env, MDB_RDONLY);
	MDB_dbi dbi;
	MDB_cursor *cursor;
	MDB_val key, value;
	uint64_t count = 0;
	MUST(mdb_dbi_open(txn, "large", 0, &dbi));
	MUST(mdb_cursor_open(txn, dbi, &cursor));
	double began = now();
	for (; !mdb_cursor_get(cursor, &key, &value, MDB_NEXT); count++)
		for (size_t at = 0; reads && at < value.mv_size; at += 64) sum += ((unsigned char *)value.mv_data)[at];
	say(name, began, count);
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

static void large_values(const char *path) {
	enum { COUNT = 5000, BYTES = 100000 };
	static unsigned char bytes[BYTES], key[KEY];
	char own[4096];
	snprintf(own, sizeof own, "%s/large", path);
	if (mkdir(own, 0700)) exit(1);
	MDB_env *env = open_env(own, MDB_NOSYNC);
	MDB_dbi dbi = table(env, "large", 0);
	for (uint64_t i = 0; i < COUNT; i += 100) {
		MDB_txn *txn = begin(env, 0);
		for (uint64_t j = i; j < i + 100; j++) {
			MDB_val k = {KEY, key}, v = {BYTES, bytes};
			make_key(key, j);
			memcpy(bytes, &j, sizeof j);
			MUST(mdb_put(txn, dbi, &k, &v, 0));
		}
		MUST(mdb_txn_commit(txn));
	}
	mdb_env_close(env);
	walk_cold(own, 0, "values of 100,000 bytes, cold: keys", 0);
	walk_cold(own, MDB_NORDAHEAD, "the same, NORDAHEAD", 0);
	walk_cold(own, 0, "values of 100,000 bytes, cold: read whole", 1);
	walk_cold(own, MDB_NORDAHEAD, "the same, NORDAHEAD, read whole", 1);
}

void habits(const char *path, uint64_t n) {
	char own[4096];
	snprintf(own, sizeof own, "%s/habits", path);
	if (mkdir(own, 0700)) exit(1);
	MDB_env *env = open_env(own, MDB_NOSYNC);
	indexes(env, n);
	entries(env, n);
	MDB_dbi dbi = table(env, "entries", 0);
	stats(env, dbi);
	many_tables(env);
	nested(env, dbi);
	empty_transactions(env);
	mdb_env_close(env);
	openings(own);
	writable_map(path);
	large_values(path);
}
