/* Tables that the processor's caches hold, and transactions of a few entries: what is left when no memory is waited for. In an
 * environment without flushes. */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "bench.h"

enum { ENTRIES = 3000, MANY = 20000, VALUES = 3000, KEYS = 20, SMALL = 14, LARGEST = 16000 };

/* One way of using a table: does some of it, returns how many times. */
typedef uint64_t work_fn(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi);

static unsigned char bytes[LARGEST];
/* Which entry or value comes next, so that each call has others. */
static uint64_t turn;

static void store(MDB_txn *txn, MDB_dbi dbi, uint64_t n, size_t size) {
	unsigned char key[KEY];
	make_key(key, n);
	memcpy(bytes, &turn, sizeof turn);
	MDB_val k = {KEY, key}, v = {size, bytes};
	MUST(mdb_put(txn, dbi, &k, &v, 0));
}

static void fill(MDB_env *env, MDB_dbi dbi, uint64_t n) {
	MDB_txn *txn = begin(env, 0);
	for (uint64_t i = 0; i < n; i++) store(txn, dbi, i, SMALL);
	MUST(mdb_txn_commit(txn));
}

/* A third of a second of a way of using a table, after a tenth that does not count. `flags`: of the transaction around
 * all of it. What it writes is given up. */
static void use_within(MDB_env *env, MDB_dbi dbi, unsigned flags, const char *name, work_fn *work) {
	MDB_txn *txn = begin(env, flags);
	MDB_cursor *cursor = cursor_on(txn, dbi);
	for (double began = now(); now() - began < 0.1;) work(env, txn, cursor, dbi);
	uint64_t count = 0;
	double began = now();
	while (now() - began < 0.33) count += work(env, txn, cursor, dbi);
	say(name, began, count);
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
}

/* The same for a way that has its own transactions. */
static void use(MDB_env *env, MDB_dbi dbi, const char *name, work_fn *work) {
	for (double began = now(); now() - began < 0.1;) work(env, NULL, NULL, dbi);
	uint64_t count = 0;
	double began = now();
	while (now() - began < 0.33) count += work(env, NULL, NULL, dbi);
	say(name, began, count);
}

static uint64_t walk(MDB_cursor *cursor, MDB_cursor_op first, MDB_cursor_op then) {
	MDB_val k, v;
	uint64_t count = 0;
	for (int rc = mdb_cursor_get(cursor, &k, &v, first); !rc; rc = mdb_cursor_get(cursor, &k, &v, then)) count++;
	return count;
}

static uint64_t forwards(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)env, (void)txn, (void)dbi;
	return walk(cursor, MDB_FIRST, MDB_NEXT);
}

static uint64_t backwards(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)env, (void)txn, (void)dbi;
	return walk(cursor, MDB_LAST, MDB_PREV);
}

static uint64_t by_keys(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)env, (void)txn, (void)dbi;
	return walk(cursor, MDB_FIRST, MDB_NEXT_NODUP);
}

static uint64_t by_last_values(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)env, (void)txn, (void)dbi;
	MDB_val k, v;
	uint64_t count = 0;
	for (int rc = mdb_cursor_get(cursor, &k, &v, MDB_FIRST); !rc; rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT_NODUP)) {
		MUST(mdb_cursor_get(cursor, &k, &v, MDB_LAST_DUP));
		count++;
	}
	return count;
}

static uint64_t by_counts(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)env, (void)txn, (void)dbi;
	MDB_val k, v;
	uint64_t count = 0;
	for (int rc = mdb_cursor_get(cursor, &k, &v, MDB_FIRST); !rc; rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT_NODUP)) {
		size_t values;
		MUST(mdb_cursor_count(cursor, &values));
		sum += values;
		count++;
	}
	return count;
}

static uint64_t get_any(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)env, (void)cursor;
	for (int i = 0; i < 100; i++) {
		unsigned char key[KEY];
		make_key(key, mixed(turn++) % ENTRIES);
		MDB_val k = {KEY, key}, v;
		MUST(mdb_get(txn, dbi, &k, &v));
	}
	return 100;
}

static uint64_t search(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)env;
	for (int i = 0; i < 100; i++) {
		unsigned char key[KEY];
		make_key(key, mixed(turn++) % ENTRIES);
		MDB_val k = {KEY, key}, v;
		MUST(mdb_cursor_open(txn, dbi, &cursor));
		MUST(mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE));
		for (int step = 0; step < 3; step++) mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
		mdb_cursor_close(cursor);
	}
	return 100;
}

static uint64_t get_both(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)env, (void)txn, (void)dbi;
	for (int i = 0; i < 100; i++) {
		uint64_t value = mixed(turn++) % VALUES;
		unsigned char key[KEY];
		make_key(key, turn % KEYS);
		MDB_val k = {KEY, key}, v = {sizeof value, &value};
		MUST(mdb_cursor_get(cursor, &k, &v, MDB_GET_BOTH));
	}
	return 100;
}

static uint64_t pages_of_values(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)env, (void)txn, (void)dbi;
	MDB_val k, v;
	uint64_t count = 0;
	for (int rc = mdb_cursor_get(cursor, &k, &v, MDB_FIRST); !rc; rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT_NODUP)) {
		MDB_cursor_op op = MDB_GET_MULTIPLE;
		for (; !mdb_cursor_get(cursor, &k, &v, op); op = MDB_NEXT_MULTIPLE) count++;
	}
	return count;
}

static uint64_t rewrite(MDB_cursor *cursor, unsigned flags) {
	MDB_val k, v;
	uint64_t count = 0;
	for (int rc = mdb_cursor_get(cursor, &k, &v, MDB_FIRST); !rc; rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT)) {
		v = (MDB_val){SMALL, bytes};
		MUST(mdb_cursor_put(cursor, &k, &v, flags));
		count++;
	}
	return count;
}

static uint64_t put_over(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)env, (void)txn, (void)dbi;
	return rewrite(cursor, 0);
}

static uint64_t put_current(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)env, (void)txn, (void)dbi;
	return rewrite(cursor, MDB_CURRENT);
}

/* Every entry deleted as a cursor comes by, with a look at what is there then, in a child transaction that is given up. */
static uint64_t delete_walking(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	MDB_val k, v;
	uint64_t count = 0;
	MDB_txn *child;
	MUST(mdb_txn_begin(env, txn, 0, &child));
	MUST(mdb_cursor_open(child, dbi, &cursor));
	for (int rc = mdb_cursor_get(cursor, &k, &v, MDB_FIRST); !rc; rc = mdb_cursor_get(cursor, &k, &v, MDB_GET_CURRENT)) {
		MUST(mdb_cursor_del(cursor, 0));
		count++;
	}
	mdb_txn_abort(child);
	return count;
}

/* A transaction of so many puts over entries that are there. */
static void puts_over(MDB_env *env, MDB_dbi dbi, uint64_t among, int each) {
	MDB_txn *txn = begin(env, 0);
	for (int i = 0; i < each; i++) store(txn, dbi, mixed(turn++) % among, SMALL);
	MUST(mdb_txn_commit(txn));
}

static uint64_t put_one(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)txn, (void)cursor;
	puts_over(env, dbi, ENTRIES, 1);
	return 1;
}

static uint64_t put_ten(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)txn, (void)cursor;
	puts_over(env, dbi, ENTRIES, 10);
	return 10;
}

static uint64_t put_among_many(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)txn, (void)cursor;
	puts_over(env, dbi, MANY, 1);
	return 1;
}

static uint64_t count_up(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)cursor;
	txn = begin(env, 0);
	for (int i = 0; i < 500; i++) {
		uint64_t number = 0;
		unsigned char key[KEY];
		make_key(key, mixed(turn++) % 100);
		MDB_val k = {KEY, key}, v;
		if (!mdb_get(txn, dbi, &k, &v)) memcpy(&number, v.mv_data, sizeof number);
		number++;
		v = (MDB_val){sizeof number, &number};
		MUST(mdb_put(txn, dbi, &k, &v, 0));
	}
	MUST(mdb_txn_commit(txn));
	return 500;
}

static uint64_t child_of_twenty(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)cursor;
	MDB_txn *child;
	MUST(mdb_txn_begin(env, txn, 0, &child));
	for (int i = 0; i < 20; i++) store(child, dbi, mixed(turn++) % ENTRIES, SMALL);
	MUST(mdb_txn_commit(child));
	return 1;
}

/* A queue: an entry is appended, the first one is taken. */
static uint64_t queue(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	MDB_val k, v = {SMALL, bytes};
	uint64_t number = __builtin_bswap64(++turn);
	txn = begin(env, 0);
	k = (MDB_val){sizeof number, &number};
	MUST(mdb_put(txn, dbi, &k, &v, MDB_APPEND));
	MUST(mdb_cursor_open(txn, dbi, &cursor));
	MUST(mdb_cursor_get(cursor, &k, &v, MDB_FIRST));
	MUST(mdb_cursor_del(cursor, 0));
	mdb_cursor_close(cursor);
	MUST(mdb_txn_commit(txn));
	return 1;
}

static uint64_t put_values(MDB_env *env, MDB_dbi dbi, size_t size) {
	MDB_txn *txn = begin(env, 0);
	for (int i = 0; i < 100; i++) store(txn, dbi, turn++ % 2000, size);
	MUST(mdb_txn_commit(txn));
	return 100;
}

static uint64_t put_1000(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)txn, (void)cursor;
	return put_values(env, dbi, 1000);
}

static uint64_t put_4000(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)txn, (void)cursor;
	return put_values(env, dbi, 4000);
}

static uint64_t put_16000(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)txn, (void)cursor;
	return put_values(env, dbi, LARGEST);
}

/* One call over and over, of a cursor that stands on a key. */
static uint64_t again(MDB_cursor *cursor, uint64_t key_number, const MDB_cursor_op ops[2]) {
	unsigned char key[KEY];
	make_key(key, key_number);
	MDB_val k = {KEY, key}, v;
	MUST(mdb_cursor_get(cursor, &k, &v, MDB_SET));
	for (int i = 0; i < 1000; i++) {
		if (ops[i % 2] == MDB_SET) k = (MDB_val){KEY, key};
		MUST(mdb_cursor_get(cursor, &k, &v, ops[i % 2]));
	}
	return 1000;
}

static uint64_t to_the_ends(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)env, (void)txn, (void)dbi;
	return again(cursor, ENTRIES / 2, (MDB_cursor_op[]){MDB_FIRST, MDB_LAST});
}

static uint64_t to_itself(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)env, (void)txn, (void)dbi;
	return again(cursor, ENTRIES / 2, (MDB_cursor_op[]){MDB_SET, MDB_SET});
}

static uint64_t look(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)env, (void)txn, (void)dbi;
	return again(cursor, ENTRIES / 2, (MDB_cursor_op[]){MDB_GET_CURRENT, MDB_GET_CURRENT});
}

static uint64_t to_the_ends_of_values(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)env, (void)txn, (void)dbi;
	return again(cursor, 7, (MDB_cursor_op[]){MDB_FIRST_DUP, MDB_LAST_DUP});
}

static uint64_t count_values(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)env, (void)txn, (void)dbi;
	again(cursor, 7, (MDB_cursor_op[]){MDB_FIRST_DUP, MDB_LAST_DUP});
	for (int i = 0; i < 9000; i++) {
		size_t values;
		MUST(mdb_cursor_count(cursor, &values));
		sum += values;
	}
	return 9000;
}

static uint64_t compare(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)env, (void)cursor;
	unsigned char low[KEY], high[KEY];
	make_key(low, 1), make_key(high, 2);
	MDB_val a = {KEY, low}, b = {KEY, high};
	for (int i = 0; i < 1000; i++) sum += mdb_cmp(txn, dbi, &a, &b) < 0;
	return 1000;
}

static uint64_t open_again(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)env, (void)cursor;
	for (int i = 0; i < 1000; i++) MUST(mdb_dbi_open(txn, "entries", 0, &dbi));
	return 1000;
}

static uint64_t make_and_drop(MDB_env *env, MDB_txn *txn, MDB_cursor *cursor, MDB_dbi dbi) {
	(void)cursor;
	txn = begin(env, 0);
	for (int i = 0; i < 20; i++) {
		MUST(mdb_dbi_open(txn, "for a moment", MDB_CREATE, &dbi));
		MUST(mdb_drop(txn, dbi, 1));
	}
	mdb_txn_abort(txn);
	return 20;
}

/* Single calls: what is left of each where it finds what it needs near by. */
static void calls(MDB_env *env, MDB_dbi entries) {
	MDB_dbi few = table(env, "few", MDB_DUPSORT);
	MDB_txn *txn = begin(env, 0);
	for (uint64_t i = 0; i < 5 * ENTRIES; i++) {
		unsigned char key[KEY];
		make_key(key, i / 5);
		MDB_val k = {KEY, key}, v = {sizeof i, &i};
		MUST(mdb_put(txn, few, &k, &v, 0));
	}
	MUST(mdb_txn_commit(txn));
	use_within(env, entries, MDB_RDONLY, "call: first, last", to_the_ends);
	use_within(env, entries, MDB_RDONLY, "call: set, to where it stands", to_itself);
	use_within(env, entries, MDB_RDONLY, "call: get_current", look);
	use_within(env, few, MDB_RDONLY, "call: first_dup, last_dup of five values", to_the_ends_of_values);
	use_within(env, few, MDB_RDONLY, "call: cursor_count of five values", count_values);
	use_within(env, entries, MDB_RDONLY, "call: cmp", compare);
	use_within(env, entries, MDB_RDONLY, "call: dbi_open of an open table", open_again);
	use(env, entries, "call: dbi_open of a new table, drop", make_and_drop);
}

static void read_entries(MDB_env *env, MDB_dbi dbi) {
	use_within(env, dbi, MDB_RDONLY, "small: get", get_any);
	use_within(env, dbi, MDB_RDONLY, "small: next", forwards);
	use_within(env, dbi, MDB_RDONLY, "small: prev", backwards);
	use_within(env, dbi, MDB_RDONLY, "small: open a cursor, set_range, 3 next, close", search);
	use_within(env, dbi, 0, "small: next in a write transaction", forwards);
	use_within(env, dbi, 0, "small: cursor_put over the entry, next", put_over);
	use_within(env, dbi, 0, "small: cursor_put CURRENT, next", put_current);
	use_within(env, dbi, 0, "small: cursor_del, get_current", delete_walking);
	MDB_txn *txn = begin(env, 0);
	for (uint64_t i = 0; i < ENTRIES; i++) store(txn, dbi, i, SMALL);
	MDB_cursor *cursor = cursor_on(txn, dbi);
	uint64_t count = 0;
	double began = now();
	while (now() - began < 0.33) count += walk(cursor, MDB_FIRST, MDB_NEXT);
	say("small: next through what the transaction wrote", began, count);
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
}

/* A few keys with thousands of values each. */
static void read_values(MDB_env *env, const char *name, unsigned flags) {
	static const struct {
		const char *name;
		work_fn *work;
	} ways[] = {
		{"next", forwards},
		{"next_nodup", by_keys},
		{"next_nodup, last_dup", by_last_values},
		{"next_nodup, count", by_counts},
		{"get_both", get_both},
		{"get_multiple, next_multiple", pages_of_values},
	};
	MDB_dbi dbi = table(env, name, MDB_DUPSORT | flags);
	MDB_txn *txn = begin(env, 0);
	for (uint64_t i = 0; i < KEYS * VALUES; i++) {
		uint64_t value = i % VALUES;
		unsigned char key[KEY];
		make_key(key, i / VALUES);
		MDB_val k = {KEY, key}, v = {sizeof value, &value};
		MUST(mdb_put(txn, dbi, &k, &v, 0));
	}
	MUST(mdb_txn_commit(txn));
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		char title[100];
		if (ways[i].work == pages_of_values && !(flags & MDB_DUPFIXED)) continue;
		snprintf(title, sizeof title, "%s: %s", name, ways[i].name);
		use_within(env, dbi, MDB_RDONLY, title, ways[i].work);
	}
}

void small(const char *path) {
	char own[4096];
	snprintf(own, sizeof own, "%s/small", path);
	if (mkdir(own, 0700)) exit(1);
	MDB_env *env = open_env(own, MDB_NOSYNC);
	MDB_dbi entries = table(env, "entries", 0), many = table(env, "many", 0);
	fill(env, entries, ENTRIES);
	fill(env, many, MANY);
	read_entries(env, entries);
	read_values(env, "values", 0);
	read_values(env, "fixed values", MDB_DUPFIXED);
	calls(env, entries);
	use(env, entries, "small: a put a transaction", put_one);
	use(env, entries, "small: ten puts a transaction", put_ten);
	use(env, many, "small: a put a transaction, among 20,000", put_among_many);
	use(env, table(env, "counters", 0), "small: 500 counters a transaction", count_up);
	use_within(env, entries, 0, "small: child transactions of twenty puts", child_of_twenty);
	MDB_dbi waiting = table(env, "queue", 0);
	use(env, waiting, "small: an entry appended, the first one taken, a transaction", queue);
	use(env, table(env, "1000", 0), "values of 1,000 bytes, 100 a transaction", put_1000);
	use(env, table(env, "4000", 0), "values of 4,000 bytes, 100 a transaction", put_4000);
	use(env, table(env, "16000", 0), "values of 16,000 bytes, 100 a transaction", put_16000);
	mdb_env_close(env);
}
