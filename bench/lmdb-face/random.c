/* Workloads whose tables, entries and transactions are chosen at random: what the rows that were thought of leave out. Figures
 * are operations a second of processor time, since most works are over in milliseconds. */
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"

enum { TABLES = 60, KEY_MAX = 511, VALUE_MAX = 80000, LOOKS = 20000, OPENINGS = 30, BYTES_A_WORK = 200 << 20 };

/* What keys are made of. */
enum keys { NUMBERS, RANDOM_BYTES, PATHS, ANY_LENGTH };

/* What was chosen. */
static struct {
	enum keys keys;
	size_t key_size, value_size, value_size_max;
	unsigned table_flags, env_flags;
	uint64_t tables, entries, values_each, batch;
} shape;

static MDB_env *env;
static MDB_dbi tables[TABLES];
static unsigned char key_bytes[KEY_MAX + 1], value_bytes[VALUE_MAX];
/* Keys that there are, from the first one up to the next to be made. */
static uint64_t first, next;
static uint64_t random_state;

static uint64_t any(uint64_t below) { return mixed(random_state++) % below; }

#define ONE_OF(...) (((const uint64_t[]){__VA_ARGS__})[any(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))])

static void choose_entries(void) {
	shape.keys = any(4);
	shape.key_size = ONE_OF(8, 16, 24, 40, 100, 250, 500);
	if (shape.keys == NUMBERS && shape.key_size < 16) shape.key_size = 16;
	shape.table_flags = ONE_OF(0, 0, 0, MDB_INTEGERKEY, MDB_DUPSORT, MDB_DUPSORT | MDB_DUPFIXED,
	                           MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP, MDB_REVERSEKEY);
	int is_multiple = shape.table_flags & MDB_DUPSORT;
	shape.value_size = is_multiple ? ONE_OF(8, 30, 100, 250) : ONE_OF(0, 8, 30, 100, 300, 1000, 1900, 3000, 5000, 12000, 40000);
	if (shape.table_flags & MDB_INTEGERDUP) shape.value_size = 8;
	int varies = !(shape.table_flags & MDB_DUPFIXED) && any(2);
	shape.value_size_max = varies ? 2 * shape.value_size : shape.value_size;
	shape.values_each = is_multiple ? ONE_OF(1, 3, 20, 300, 5000) : 1;
}

static void choose(uint64_t seed) {
	random_state = mixed(seed);
	choose_entries();
	uint64_t each = (shape.value_size + shape.value_size_max) / 2 + shape.key_size + 20;
	uint64_t bytes = ONE_OF(20000000, 20000000, 150000000), most = ONE_OF(20000, 300000);
	shape.entries = bytes / each < most ? bytes / each : most;
	shape.batch = ONE_OF(1, 1, 3, 10, 100, 1000, 20000);
	shape.tables = ONE_OF(1, 1, 1, 3, 20, TABLES);
	shape.env_flags = MDB_NOSYNC | ONE_OF(0, 0, 0, MDB_WRITEMAP, MDB_NOMEMINIT, MDB_NORDAHEAD, MDB_NOTLS);
	printf("# keys %d of %zu, values of %zu to %zu, %lu a key; %lu entries in %lu tables, %lu a transaction; "
	       "flags 0x%x and 0x%x\n", shape.keys, shape.key_size, shape.value_size, shape.value_size_max,
	       (unsigned long)shape.values_each, (unsigned long)shape.entries, (unsigned long)shape.tables,
	       (unsigned long)shape.batch, shape.table_flags, shape.env_flags);
}

static MDB_val key_of(uint64_t n) {
	char *text = (char *)key_bytes;
	MDB_val key = {shape.key_size, key_bytes};
	if (shape.table_flags & MDB_INTEGERKEY) {
		size_t number = shape.keys == NUMBERS ? n : mixed(n);
		memcpy(key_bytes, &number, key.mv_size = sizeof number);
		return key;
	}
	switch (shape.keys) {
	case NUMBERS:
		snprintf(text, sizeof key_bytes, "%0*lu", (int)shape.key_size, (unsigned long)n);
		break;
	case RANDOM_BYTES:
		for (size_t i = 0; i < shape.key_size; i += 8) {
			uint64_t word = mixed(n + (i << 40));
			memcpy(key_bytes + i, &word, 8);
		}
		break;
	case PATHS:
		key.mv_size = snprintf(text, sizeof key_bytes, "user/%lu/profile/%lu", (unsigned long)(mixed(n) % 100000), (unsigned long)n);
		break;
	case ANY_LENGTH:
		key.mv_size = snprintf(text, sizeof key_bytes, "%lx", (unsigned long)(mixed(n) & 0xffffffffff));
		size_t more = 1 + mixed(~n) % shape.key_size;
		if (more > KEY_MAX - key.mv_size) more = KEY_MAX - key.mv_size;
		memset(key_bytes + key.mv_size, 'x', more);
		key.mv_size += more;
	}
	return key;
}

static MDB_val any_value(void) {
	uint64_t word = any(~0ul);
	memcpy(value_bytes, &word, 8);
	return (MDB_val){shape.value_size + any(shape.value_size_max - shape.value_size + 1), value_bytes};
}

static const char *name_of(uint64_t t) {
	static char name[24];
	snprintf(name, sizeof name, "%lu", (unsigned long)t);
	return name;
}

static MDB_dbi table_of(uint64_t n) { return tables[n % shape.tables]; }
static uint64_t any_key(void) { return first + any(next - first); }

static void store_one(MDB_txn *txn, uint64_t n) {
	MDB_val key = key_of(n), value = any_value();
	MUST(mdb_put(txn, table_of(n), &key, &value, 0));
}

/* Many of them come to a table in one transaction. */
static uint64_t load(void) {
	uint64_t keys = shape.entries / shape.values_each + 1, batch = shape.batch < 1000 ? 1000 : shape.batch;
	for (uint64_t done = 0; done < shape.entries;) {
		MDB_txn *txn = begin(env, 0);
		for (uint64_t i = 0; i < batch && done < shape.entries; i++) store_one(txn, done++ % keys);
		MUST(mdb_txn_commit(txn));
	}
	next = keys < shape.entries ? keys : shape.entries;
	return shape.entries;
}

static uint64_t gets(void) {
	MDB_txn *txn = begin(env, MDB_RDONLY);
	for (uint64_t i = 0; i < shape.entries; i++) {
		uint64_t n = any_key();
		MDB_val key = key_of(n), value;
		if (!mdb_get(txn, table_of(n), &key, &value) && value.mv_size) touch(&value);
	}
	mdb_txn_abort(txn);
	return shape.entries;
}

static uint64_t a_transaction_for_each_get(void) {
	for (uint64_t i = 0; i < LOOKS; i++) {
		uint64_t n = any_key();
		MDB_val key = key_of(n), value;
		MDB_txn *txn = begin(env, MDB_RDONLY);
		mdb_get(txn, table_of(n), &key, &value);
		mdb_txn_abort(txn);
	}
	return LOOKS;
}

static uint64_t walk(MDB_cursor_op step, int reads) {
	uint64_t count = 0;
	MDB_txn *txn = begin(env, MDB_RDONLY);
	for (uint64_t t = 0; t < shape.tables; t++) {
		MDB_cursor *cursor = cursor_on(txn, tables[t]);
		for (MDB_val key, value; !mdb_cursor_get(cursor, &key, &value, step); count++)
			if (reads && value.mv_size) touch(&value);
		mdb_cursor_close(cursor);
	}
	mdb_txn_abort(txn);
	return count;
}

static uint64_t walks(void) { return walk(MDB_NEXT, 1) + walk(MDB_NEXT, 1); }
static uint64_t walks_by_keys(void) { return walk(MDB_NEXT, 0) + walk(MDB_NEXT, 0); }
static uint64_t walks_back(void) { return walk(MDB_PREV, 1) + walk(MDB_PREV, 1); }

static uint64_t ranges(void) {
	MDB_txn *txn = begin(env, MDB_RDONLY);
	for (uint64_t i = 0; i < LOOKS; i++) {
		uint64_t n = any_key();
		MDB_val key = key_of(n), value;
		MDB_cursor *cursor = cursor_on(txn, table_of(n));
		int rc = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
		for (int j = 0; j < 20 && !rc; j++) rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
		mdb_cursor_close(cursor);
	}
	mdb_txn_abort(txn);
	return LOOKS;
}

static uint64_t values_of_keys(void) {
	MDB_txn *txn = begin(env, MDB_RDONLY);
	MDB_cursor *cursor = cursor_on(txn, tables[0]);
	for (uint64_t i = 0; i < LOOKS; i++) {
		MDB_val key = key_of(any_key() / shape.tables * shape.tables), value;
		int rc = mdb_cursor_get(cursor, &key, &value, MDB_SET_KEY);
		for (int j = 0; j < 5 && !rc; j++) rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT_DUP);
	}
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	return LOOKS;
}

/* Transactions of the chosen size, as many as are worth measuring; what each does to one key. */
static uint64_t transactions(void one(MDB_txn *txn)) {
	uint64_t each = shape.value_size_max + shape.key_size + 20, done = 0;
	uint64_t count = 2000 + 100 * shape.batch;
	if (count * each > BYTES_A_WORK) count = BYTES_A_WORK / each;
	while (done < count) {
		MDB_txn *txn = begin(env, 0);
		for (uint64_t i = 0; i < shape.batch; i++, done++) one(txn);
		MUST(mdb_txn_commit(txn));
	}
	return done;
}

static void store_again(MDB_txn *txn) { store_one(txn, any_key()); }
static void store_new(MDB_txn *txn) { store_one(txn, next++); }

static void remove_first(MDB_txn *txn) {
	MDB_val key = key_of(first);
	int rc = mdb_del(txn, table_of(first), &key, NULL);
	if (rc != MDB_NOTFOUND) MUST(rc);
	first += first + 1 < next;
}

static void store_new_for_first(MDB_txn *txn) {
	MDB_cursor *cursor = cursor_on(txn, tables[0]);
	MDB_val key, value;
	if (!mdb_cursor_get(cursor, &key, &value, MDB_FIRST)) MUST(mdb_cursor_del(cursor, 0));
	mdb_cursor_close(cursor);
	store_one(txn, next++);
}

static uint64_t updates(void) { return transactions(store_again); }
static uint64_t insertions(void) { return transactions(store_new); }
static uint64_t deletions(void) { return transactions(remove_first); }
static uint64_t queues(void) { return transactions(store_new_for_first); }

static uint64_t openings(void) {
	for (int i = 0; i < OPENINGS; i++) {
		char path[4096];
		const char *open;
		MUST(mdb_env_get_path(env, &open));
		snprintf(path, sizeof path, "%s", open);
		mdb_env_close(env);
		env = open_env(path, shape.env_flags);
		MDB_txn *txn = begin(env, 0);
		for (uint64_t t = 0; t < shape.tables; t++) MUST(mdb_dbi_open(txn, name_of(t), 0, &tables[t]));
		store_again(txn);
		MUST(mdb_txn_commit(txn));
	}
	return OPENINGS;
}

static uint64_t drops(void) {
	MDB_txn *txn = begin(env, 0);
	for (uint64_t t = 0; t < shape.tables; t++) MUST(mdb_drop(txn, tables[t], t % 2));
	MUST(mdb_txn_commit(txn));
	return shape.entries;
}

static const struct {
	const char *name;
	uint64_t (*work)(void);
	int of_duplicates;
} works[] = {
	{"load", load, 0},
	{"get", gets, 0},
	{"a transaction for each get", a_transaction_for_each_get, 0},
	{"walk", walks, 0},
	{"walk, values not read", walks_by_keys, 0},
	{"walk back", walks_back, 0},
	{"set_range and 20 next", ranges, 0},
	{"set and 5 next_dup", values_of_keys, 1},
	{"update", updates, 0},
	{"insert", insertions, 0},
	{"delete in order", deletions, 0},
	{"take the first, add a new one", queues, 0},
	{"open, put, close", openings, 0},
	{"drop", drops, 0},
};

static double processor_time(void) {
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	struct timeval user = usage.ru_utime, system = usage.ru_stime;
	return user.tv_sec + system.tv_sec + (user.tv_usec + system.tv_usec) / 1e6;
}

void at_random(const char *path, uint64_t seed) {
	choose(seed);
	env = open_env(path, shape.env_flags);
	for (uint64_t t = 0; t < shape.tables; t++) tables[t] = table(env, name_of(t), shape.table_flags);
	for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
		if (works[i].of_duplicates && !(shape.table_flags & MDB_DUPSORT)) continue;
		double began = processor_time();
		uint64_t count = works[i].work();
		double took = processor_time() - began;
		printf("%s\t%.0f\n", works[i].name, count / (took > 1e-6 ? took : 1e-6));
		fflush(stdout);
	}
	mdb_env_close(env);
}
