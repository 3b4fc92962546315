/* Entries: every flag of writing, every movement, on every kind of table. */
#include "say.h"
#include <strings.h>

static void plain(MDB_env *env) {
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, NULL, 0), named = table(txn, "named", MDB_CREATE);
	unsigned flags = 9;
	printf("dbi %u %u\n", dbi, named);
	SAY(mdb_dbi_flags(txn, named, &flags));
	printf("flags %x\n", flags);
	SAY(put(txn, dbi, "b", "2", 0));
	SAY(put(txn, dbi, "a", "1", 0));
	SAY(put(txn, dbi, "c", "3", MDB_NOOVERWRITE));
	MDB_val k = of_text("c"), d = of_text("other");
	SAY(mdb_put(txn, dbi, &k, &d, MDB_NOOVERWRITE));
	print_value("existing", &d);
	printf("\n");
	SAY(put(txn, dbi, "d", "4", MDB_APPEND));
	SAY(put(txn, dbi, "d", "4", MDB_APPEND));
	SAY(put(txn, dbi, "bb", "4", MDB_APPEND));
	SAY(put(txn, dbi, "zz", "", 0));
	SAY(put(txn, dbi, "", "x", 0));
	SAY(put(txn, dbi, "x", "x", MDB_CURRENT));
	SAY(put(txn, dbi, "x", "x", MDB_MULTIPLE));
	SAY(put(txn, dbi, "x", "x", 0x4000000));
	SAY(mdb_put(txn, dbi, NULL, &d, 0));
	SAY(mdb_put(txn, dbi, &k, NULL, 0));
	SAY(mdb_put(txn, 77, &k, &d, 0));
	SAY(mdb_get(txn, 77, &k, &d));
	SAY(mdb_get(txn, dbi, NULL, &d));
	SAY(mdb_get(txn, dbi, &k, NULL));
	SAY(mdb_del(txn, 77, &k, NULL));
	SAY(mdb_del(txn, dbi, NULL, NULL));
	static char long_key[600];
	memset(long_key, 'k', sizeof long_key);
	for (size_t size = 510; size < 514; size++) {
		k = of_bytes(long_key, size);
		d = of_text("long");
		printf("%zu ", size);
		SAY(mdb_put(txn, dbi, &k, &d, 0));
		SAY(mdb_get(txn, dbi, &k, &d));
		SAY(mdb_del(txn, dbi, &k, NULL));
	}
	k = of_text("");
	SAY(mdb_get(txn, dbi, &k, &d));
	SAY(mdb_del(txn, dbi, &k, NULL));
	k = of_text("reserved");
	d.mv_size = 5;
	d.mv_data = NULL;
	SAY(mdb_put(txn, dbi, &k, &d, MDB_RESERVE));
	memcpy(d.mv_data, "12345", 5);
	get(txn, dbi, "reserved");
	static char big[70000];
	memset(big, 'B', sizeof big);
	k = of_text("big");
	d = of_bytes(big, sizeof big);
	SAY(mdb_put(txn, dbi, &k, &d, 0));
	SAY(mdb_get(txn, dbi, &k, &d));
	printf("%d\n", d.mv_size == sizeof big && !memcmp(d.mv_data, big, sizeof big));
	SAY(del(txn, dbi, "a", "ignored"));
	SAY(del(txn, dbi, "a", NULL));
	SAY(put(txn, dbi, "named", "x", MDB_NOOVERWRITE));
	SAY(mdb_dbi_open(txn, "b", 0, &named));
	SAY(mdb_dbi_open(txn, "nothing", 0, &named));
	SAY(mdb_dbi_open(txn, "named", 0x1000, &named));
	get(txn, dbi, "b");
	MDB_stat stat;
	SAY(mdb_stat(txn, dbi, &stat));
	printf("entries %zu\n", stat.ms_entries);
	MDB_cursor *cursor;
	MUST(mdb_cursor_open(txn, dbi, &cursor));
	printf("names:");
	while (!mdb_cursor_get(cursor, &k, NULL, MDB_NEXT)) print_value("", &k);
	printf("\n");
	k = of_text("named");
	SAY(mdb_cursor_get(cursor, &k, &d, MDB_SET_KEY));
	printf("record of %zu bytes\n", d.mv_size);
	SAY(put(txn, dbi, "named", "x", 0));
	mdb_cursor_close(cursor);
	MUST(mdb_txn_commit(txn));
	/* LMDB's transaction is good for nothing after this. */
	txn = begin(env, 0);
	SAY(del(txn, dbi, "named", NULL));
	mdb_txn_abort(txn);
}

static void movements(MDB_env *env, const char *name, unsigned flags) {
	printf("== %s\n", name);
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, name, flags | MDB_CREATE);
	MDB_cursor *cursor;
	size_t count;
	MUST(mdb_cursor_open(txn, dbi, &cursor));
	printf("%d %d\n", mdb_cursor_txn(cursor) == txn, mdb_cursor_dbi(cursor) == dbi);
	for (int op = MDB_FIRST; op <= MDB_SET_RANGE + 2; op++) move(cursor, op, "k", "v");
	SAY(mdb_cursor_count(cursor, &count));
	SAY(mdb_cursor_del(cursor, 0));
	for (int i = 0; i < 5; i++) {
		for (int j = 0; j < (flags & MDB_DUPSORT ? 4 : 1); j++) {
			char key[8] = "key0", data[8] = "val0";
			key[3] += i;
			data[3] += j;
			MUST(put(txn, dbi, key, data, 0));
		}
	}
	move(cursor, MDB_FIRST, NULL, NULL);
	SAY(mdb_cursor_count(cursor, &count));
	move(cursor, MDB_NEXT, NULL, NULL);
	move(cursor, MDB_NEXT_NODUP, NULL, NULL);
	move(cursor, MDB_NEXT_DUP, NULL, NULL);
	move(cursor, MDB_PREV_DUP, NULL, NULL);
	move(cursor, MDB_PREV_NODUP, NULL, NULL);
	move(cursor, MDB_PREV, NULL, NULL);
	move(cursor, MDB_LAST, NULL, NULL);
	move(cursor, MDB_NEXT, NULL, NULL);
	move(cursor, MDB_GET_CURRENT, NULL, NULL);
	move(cursor, MDB_SET, "key2", NULL);
	move(cursor, MDB_LAST_DUP, NULL, NULL);
	move(cursor, MDB_FIRST_DUP, NULL, NULL);
	move(cursor, MDB_SET_KEY, "key3", NULL);
	move(cursor, MDB_SET_RANGE, "key3x", NULL);
	move(cursor, MDB_SET_RANGE, "kez", NULL);
	move(cursor, MDB_SET, "", NULL);
	move(cursor, MDB_GET_BOTH, "key1", "val2");
	move(cursor, MDB_GET_BOTH, "key1", "val9");
	move(cursor, MDB_GET_BOTH_RANGE, "key1", "val11");
	move(cursor, MDB_GET_BOTH_RANGE, "key1", "val9");
	MDB_val k = of_text("key1"), d = of_text("val0");
	SAY(mdb_cursor_get(cursor, NULL, &d, MDB_SET));
	SAY(mdb_cursor_get(cursor, &k, NULL, MDB_GET_BOTH));
	SAY(mdb_cursor_get(cursor, &k, &d, 99));
	SAY(mdb_cursor_get(NULL, &k, &d, MDB_FIRST));
	/* Deleting, and what comes next. */
	move(cursor, MDB_SET_KEY, "key1", NULL);
	SAY(mdb_cursor_del(cursor, 0));
	move(cursor, MDB_GET_CURRENT, NULL, NULL);
	move(cursor, MDB_NEXT, NULL, NULL);
	SAY(mdb_cursor_del(cursor, 0));
	move(cursor, MDB_NEXT, NULL, NULL);
	SAY(mdb_cursor_del(cursor, MDB_NODUPDATA));
	move(cursor, MDB_NEXT_NODUP, NULL, NULL);
	move(cursor, MDB_LAST, NULL, NULL);
	SAY(mdb_cursor_del(cursor, MDB_NODUPDATA));
	move(cursor, MDB_GET_CURRENT, NULL, NULL);
	move(cursor, MDB_NEXT, NULL, NULL);
	SAY(mdb_cursor_del(cursor, 0));
	walk(txn, dbi);
	/* Storing through it. */
	move(cursor, MDB_FIRST, NULL, NULL);
	k = of_text("key0");
	d = of_text("val0");
	SAY(mdb_cursor_put(cursor, &k, &d, MDB_CURRENT));
	SAY(mdb_cursor_put(cursor, &k, &d, MDB_NODUPDATA));
	d = of_text("val5");
	SAY(mdb_cursor_put(cursor, &k, &d, MDB_NOOVERWRITE));
	print_value("existing", &d);
	printf("\n");
	d = of_text("val5");
	SAY(mdb_cursor_put(cursor, &k, &d, 0));
	move(cursor, MDB_GET_CURRENT, NULL, NULL);
	d = of_text("val4");
	SAY(mdb_cursor_put(cursor, &k, &d, MDB_APPENDDUP));
	k = of_text("kex");
	SAY(mdb_cursor_put(cursor, &k, &d, MDB_APPEND));
	move(cursor, MDB_GET_CURRENT, NULL, NULL);
	SAY(mdb_cursor_put(cursor, NULL, &d, 0));
	MDB_val many[2] = {of_text("aaaabbbbcccc"), {3, NULL}};
	many[0].mv_size = 4;
	k = of_text("many");
	SAY(mdb_cursor_put(cursor, &k, many, MDB_MULTIPLE));
	printf("stored %zu\n", many[1].mv_size);
	walk(txn, dbi);
	SAY(del(txn, dbi, "key0", "val5"));
	SAY(del(txn, dbi, "key0", "val77"));
	SAY(del(txn, dbi, "key0", NULL));
	walk(txn, dbi);
	SAY(mdb_drop(txn, dbi, 0));
	move(cursor, MDB_GET_CURRENT, NULL, NULL);
	move(cursor, MDB_NEXT, NULL, NULL);
	walk(txn, dbi);
	SAY(mdb_drop(txn, dbi, 2));
	mdb_cursor_close(cursor);
	MUST(mdb_txn_commit(txn));
}

static int backwards(const MDB_val *a, const MDB_val *b) {
	size_t shorter = a->mv_size < b->mv_size ? a->mv_size : b->mv_size;
	int order = memcmp(b->mv_data, a->mv_data, shorter);
	return order ? order : (int)b->mv_size - (int)a->mv_size;
}

static void orders(MDB_env *env) {
	MDB_txn *txn = begin(env, 0);
	MDB_dbi custom = table(txn, "custom", MDB_CREATE | MDB_DUPSORT), back = table(txn, "back", MDB_CREATE | MDB_REVERSEKEY);
	SAY(mdb_set_compare(txn, custom, backwards));
	SAY(mdb_set_dupsort(txn, custom, backwards));
	SAY(mdb_set_compare(txn, 99, backwards));
	SAY(mdb_set_relfunc(txn, custom, NULL));
	SAY(mdb_set_relctx(txn, custom, NULL));
	for (int i = 0; i < 6; i++) {
		char key[] = "k0", data[] = "0v";
		key[1] += i % 3;
		data[0] += i;
		SAY(put(txn, custom, key, data, 0));
		SAY(put(txn, back, i % 2 ? "ab" : "ba", data, 0));
	}
	walk(txn, custom);
	walk(txn, back);
	/* Perl's binding sets the function anew before each call. */
	MDB_cursor *stepping;
	MUST(mdb_cursor_open(txn, custom, &stepping));
	int steps = 0;
	do {
		SAY(mdb_set_compare(txn, custom, backwards));
		SAY(mdb_set_dupsort(txn, custom, backwards));
	} while (!move(stepping, MDB_NEXT, NULL, NULL) && ++steps < 10);
	mdb_cursor_close(stepping);
	MDB_val a = of_text("a"), b = of_text("b");
	printf("%d %d %d\n", mdb_cmp(txn, custom, &a, &b) > 0, mdb_dcmp(txn, custom, &a, &b) > 0, mdb_cmp(txn, back, &a, &b) < 0);
	MUST(mdb_txn_commit(txn));
	txn = begin(env, MDB_RDONLY);
	walk(txn, custom);
	get(txn, custom, "k1");
	MDB_cursor *cursor;
	MUST(mdb_cursor_open(txn, custom, &cursor));
	move(cursor, MDB_SET_RANGE, "k11", NULL);
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	txn = begin(env, 0);
	MDB_dbi ints = table(txn, "ints", MDB_CREATE | MDB_INTEGERKEY | MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP);
	for (unsigned i = 0; i < 600; i += 100) {
		unsigned key = (i * 7) % 600, data = i;
		MDB_val k = of_bytes(&key, sizeof key), d = of_bytes(&data, sizeof data);
		SAY(mdb_put(txn, ints, &k, &d, 0));
		data += 300;
		SAY(mdb_put(txn, ints, &k, &d, MDB_NODUPDATA));
		SAY(mdb_put(txn, ints, &k, &d, MDB_NODUPDATA));
	}
	walk(txn, ints);
	MUST(mdb_txn_commit(txn));
}

static int without_case(const MDB_val *a, const MDB_val *b) {
	size_t shorter = a->mv_size < b->mv_size ? a->mv_size : b->mv_size;
	int order = strncasecmp(a->mv_data, b->mv_data, shorter);
	return order ? order : (int)a->mv_size - (int)b->mv_size;
}

/* Values that sort as equal, but are not, take each other's place: with the program's function, and with integers of
 * which only the first bytes count. */
static void respelled(MDB_env *env, const char *name, unsigned flags) {
	printf("== %s\n", name);
	static struct value {
		unsigned number;
		char text[8];
	} values[] = {{1, "aaaaaaa"}, {1, "bbbbbbb"}, {2, "ccccccc"}, {2, "CCCCCCC"}, {1, "AAAAAAA"}, {7, "ggggggg"}, {2, "CCCCCCC"}};
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, name, flags | MDB_CREATE | MDB_DUPSORT);
	MDB_val k = of_text("k"), d;
	MDB_cursor *cursor;
	if (!(flags & MDB_INTEGERDUP)) MUST(mdb_set_dupsort(txn, dbi, without_case));
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		d = of_bytes(&values[i], sizeof *values);
		SAY(mdb_put(txn, dbi, &k, &d, 0));
		walk(txn, dbi);
	}
	d = of_bytes(&values[1], sizeof *values);
	SAY(mdb_put(txn, dbi, &k, &d, MDB_NODUPDATA));
	MUST(mdb_cursor_open(txn, dbi, &cursor));
	SAY(mdb_cursor_get(cursor, &k, &d, MDB_GET_BOTH));
	print_value("data", &d);
	d = of_bytes(&values[2], sizeof *values);
	k = of_text("other");
	SAY(mdb_cursor_put(cursor, &k, &d, 0));
	move(cursor, MDB_GET_CURRENT, NULL, NULL);
	mdb_cursor_close(cursor);
	walk(txn, dbi);
	MUST(mdb_txn_commit(txn));
}

/* By a cursor, under the eyes of others. */
static void replaced_by_equals(MDB_env *env, const char *name, unsigned flags, int others) {
	printf("== %s, %d others\n", name, others);
	char text[20];
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, name, flags | MDB_CREATE | MDB_DUPSORT);
	MUST(mdb_set_dupsort(txn, dbi, without_case));
	for (int i = 0; i <= others; i++) {
		sprintf(text, "value%d", 1000 + i);
		MUST(put(txn, dbi, "k", text, 0));
	}
	for (int again = 0; again < 2; again++) {
		MDB_cursor *cursor, *same, *next;
		MDB_val k = of_text("k"), d;
		MUST(mdb_cursor_open(txn, dbi, &cursor));
		MUST(mdb_cursor_open(txn, dbi, &same));
		MUST(mdb_cursor_open(txn, dbi, &next));
		for (int i = 0; i <= others; i += 1 + others / 3) {
			sprintf(text, "value%d", 1000 + i);
			move(cursor, MDB_GET_BOTH, "k", text);
			move(same, MDB_GET_BOTH, "k", text);
			move(next, MDB_GET_BOTH, "k", text);
			move(next, MDB_NEXT, NULL, NULL);
			sprintf(text, again ? "vaLUE%d" : "VALue%d", 1000 + i);
			d = of_text(text);
			SAY(mdb_cursor_put(cursor, &k, &d, MDB_CURRENT));
			move(cursor, MDB_GET_CURRENT, NULL, NULL);
			move(same, MDB_GET_CURRENT, NULL, NULL);
			move(next, MDB_GET_CURRENT, NULL, NULL);
			move(cursor, MDB_NEXT, NULL, NULL);
			move(cursor, MDB_PREV, NULL, NULL);
		}
		mdb_cursor_close(cursor);
		mdb_cursor_close(same);
		mdb_cursor_close(next);
		walk(txn, dbi);
		/* The second time the pages are of another transaction. */
		MUST(mdb_txn_commit(txn));
		txn = begin(env, 0);
		MUST(mdb_set_dupsort(txn, dbi, without_case));
	}
	walk(txn, dbi);
	mdb_txn_abort(txn);
}

static void all_respelled(void) {
	MDB_env *env = open_env("equals", 0);
	for (int others = 0; others < 1000; others = 10 * others + 3) {
		replaced_by_equals(env, "any", 0, others);
		replaced_by_equals(env, "fixed", MDB_DUPFIXED, others);
	}
	mdb_env_close(env);
	env = open_env("respelled", 0);
	respelled(env, "any size", 0);
	respelled(env, "fixed size", MDB_DUPFIXED);
	respelled(env, "integers", MDB_INTEGERDUP);
	respelled(env, "fixed integers", MDB_INTEGERDUP | MDB_DUPFIXED);
	mdb_env_close(env);
	env = open_env("respelled", 0);
	static const char *const names[] = {"integers", "fixed integers"};
	for (int i = 0; i < 2; i++) {
		MDB_txn *txn = begin(env, 0);
		MDB_dbi dbi = table(txn, names[i], 0);
		unsigned numbers[3] = {5, 1, 1}, flags;
		MDB_val k = of_text("k"), d = of_bytes(numbers, sizeof numbers);
		SAY(mdb_dbi_flags(txn, dbi, &flags));
		printf("%x\n", flags);
		SAY(mdb_put(txn, dbi, &k, &d, 0));
		walk(txn, dbi);
		SAY(mdb_del(txn, dbi, &k, &d));
		walk(txn, dbi);
		MUST(mdb_txn_commit(txn));
	}
	mdb_env_close(env);
}

/* The main table with flags of its own. */
static void main_with_flags(void) {
	MDB_env *env = open_env("main", 0);
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, NULL, MDB_DUPSORT | MDB_CREATE), other;
	unsigned flags;
	SAY(put(txn, dbi, "a", "2", 0));
	SAY(put(txn, dbi, "a", "1", 0));
	SAY(mdb_dbi_open(txn, "named", MDB_CREATE, &other));
	SAY(mdb_dbi_open(txn, "named", 0, &other));
	MUST(mdb_txn_commit(txn));
	mdb_env_close(env);
	env = open_env("main", 0);
	txn = begin(env, MDB_RDONLY);
	dbi = table(txn, NULL, 0);
	SAY(mdb_dbi_flags(txn, dbi, &flags));
	printf("%x\n", flags);
	walk(txn, dbi);
	mdb_txn_abort(txn);
	mdb_env_close(env);
	env = open_env("empty", 0);
	txn = begin(env, 0);
	dbi = table(txn, NULL, MDB_INTEGERKEY | MDB_CREATE);
	MUST(mdb_txn_commit(txn));
	mdb_env_close(env);
	env = open_env("empty", 0);
	txn = begin(env, MDB_RDONLY);
	dbi = table(txn, NULL, 0);
	SAY(mdb_dbi_flags(txn, dbi, &flags));
	printf("%x\n", flags);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

/* Room in the place of a value that stays as long as it was holds that value: programs change bytes of it. */
static void changed_in_place(MDB_env *env) {
	static const size_t sizes[] = {1, 3, 700, 3};
	static char bytes[700];
	memset(bytes, 'a', sizeof bytes);
	for (int commits = 0; commits < 2; commits++) {
		MDB_txn *txn = begin(env, 0);
		MDB_dbi dbi = table(txn, "in place", MDB_CREATE);
		for (int i = 0; i < 4; i++) {
			char name[16];
			sprintf(name, "key%d", i);
			MDB_val k = of_text(name), d = of_bytes(bytes, sizes[i]);
			MUST(mdb_put(txn, dbi, &k, &d, 0));
		}
		if (commits) {
			MUST(mdb_txn_commit(txn));
			txn = begin(env, 0);
		}
		MDB_cursor *cursor;
		MUST(mdb_cursor_open(txn, dbi, &cursor));
		MDB_val k, d;
		for (int i = 0; !mdb_cursor_get(cursor, &k, &d, MDB_NEXT); i++) {
			d = of_bytes(NULL, sizes[i]);
			SAY(mdb_cursor_put(cursor, &k, &d, MDB_CURRENT | MDB_RESERVE));
			print_value("room", &d);
			((char *)d.mv_data)[d.mv_size / 2] = 'z';
			SAY(mdb_cursor_get(cursor, &k, &d, MDB_GET_CURRENT));
			print_value("changed", &d);
			printf("\n");
		}
		MUST(mdb_txn_commit(txn));
	}
}

/* What may happen between a deletion by a cursor and the next movement. Numbers below zero: there is nothing more. */
static int meanwhile(int event, MDB_env *env, MDB_txn *txn, MDB_dbi dbi, MDB_cursor *cursor) {
	MDB_txn *child;
	MDB_cursor *other;
	MDB_val k = of_text("d"), d = of_text("new");
	size_t count;
	switch (event) {
	case 0: return 0;
	case 1: return put(txn, dbi, "cc", "between", 0);
	case 2: return put(txn, dbi, "c", "again", 0);
	case 3: return del(txn, dbi, "d", NULL);
	case 4: return mdb_cursor_del(cursor, 0);
	case 5: return mdb_cursor_put(cursor, &k, &d, MDB_CURRENT);
	case 6: return mdb_cursor_put(cursor, &k, &d, 0);
	case 7: return mdb_cursor_count(cursor, &count);
	case 8:
	case 9:
		MUST(mdb_cursor_open(txn, dbi, &other));
		move(other, MDB_SET_KEY, event == 8 ? "d" : "b", NULL);
		SAY(mdb_cursor_del(other, 0));
		move(other, MDB_NEXT, NULL, NULL);
		mdb_cursor_close(other);
		return 0;
	case 10:
	case 11:
	case 12:
		MUST(mdb_txn_begin(env, txn, 0, &child));
		MUST(put(child, dbi, "cc", "between", 0));
		if (event == 12) move(cursor, MDB_NEXT, NULL, NULL);
		if (event == 10) mdb_txn_abort(child);
		else MUST(mdb_txn_commit(child));
		return 0;
	case 13: return put(txn, table(txn, "other", MDB_CREATE), "cc", "elsewhere", 0);
	case 14: return mdb_drop(txn, dbi, 0);
	case 15: return mdb_drop(txn, dbi, 0) || put(txn, dbi, "c", "anew", 0);
	default: return -1;
	}
}

/* A cursor that has deleted what it stood on, at the beginning, in the middle and at the end. */
static void after_deletions(MDB_env *env, const char *name, unsigned flags) {
	static const char *const keys[] = {"a", "c", "f"};
	static const MDB_cursor_op ops[] = {MDB_NEXT, MDB_NEXT_NODUP, MDB_NEXT_DUP, MDB_PREV, MDB_GET_CURRENT, MDB_FIRST, MDB_LAST};
	for (int event = 0; event < 16; event++)
		for (int at = 0; at < 3; at++)
			for (int op = 0; op < 7; op++) {
				/* Where there is no entry any more LMDB writes behind the page's last one. */
				if (event == 5 && at == 2) continue;
				MDB_txn *txn = begin(env, 0);
				MDB_dbi dbi = table(txn, name, flags | MDB_CREATE);
				MDB_cursor *cursor;
				for (char key[2] = "a"; key[0] < 'g'; key[0]++) MUST(put(txn, dbi, key, "old", 0));
				MUST(mdb_cursor_open(txn, dbi, &cursor));
				printf("== %s %s %d\n", name ? name : "main", keys[at], event);
				move(cursor, MDB_SET_KEY, keys[at], NULL);
				SAY(mdb_cursor_del(cursor, 0));
				SAY(meanwhile(event, env, txn, dbi, cursor));
				if (!move(cursor, ops[op], NULL, NULL)) move(cursor, MDB_NEXT, NULL, NULL);
				move(cursor, MDB_PREV, NULL, NULL);
				walk(txn, dbi);
				mdb_txn_abort(txn);
			}
}

/* A cursor whose entry is gone is on the next one. A second cursor replaces that, and the first has still to give it. */
static void replaced_ahead(MDB_env *env, const char *name, unsigned flags) {
	static const char *const pairs[] = {"a10", "b10", "b20", "b30", "c10"};
	static const char *const replacements[] = {"10", "11", "20", "21", "30", "31"};
	for (int gone = 0; gone < (flags & MDB_DUPSORT ? 3 : 1); gone++)
		for (int other = 0; other < 2; other++)
			for (int by_cursor = 0; by_cursor < 2; by_cursor++) {
				const char *key = gone ? "b" : "a", *replacement = replacements[2 * gone + other];
				MDB_txn *txn = begin(env, 0);
				MDB_dbi dbi = table(txn, name, flags | MDB_CREATE);
				MDB_cursor *first, *second;
				MDB_cursor_op op = flags & MDB_DUPSORT ? MDB_GET_BOTH : MDB_SET;
				MDB_val k = of_text("b"), d = of_text(replacement);
				printf("== %s %s %d %s\n", name, pairs[gone], by_cursor, replacement);
				for (int i = 0; i < 5; i++) {
					const char of_pair[] = {pairs[i][0], 0};
					put(txn, dbi, of_pair, pairs[i] + 1, flags & MDB_DUPSORT ? 0 : MDB_NOOVERWRITE);
				}
				MUST(mdb_cursor_open(txn, dbi, &first));
				MUST(mdb_cursor_open(txn, dbi, &second));
				move(first, op, key, pairs[gone] + 1);
				move(second, op, "b", pairs[gone + 1] + 1);
				if (by_cursor) SAY(mdb_cursor_del(first, 0));
				else SAY(del(txn, dbi, key, pairs[gone] + 1));
				SAY(mdb_cursor_put(second, &k, &d, MDB_CURRENT));
				while (!move(first, MDB_NEXT, NULL, NULL));
				mdb_txn_abort(txn);
			}
}

/* What a movement says of the key to a program that asks for the key alone, or that looks at it although nothing was found. */
static void key_of(MDB_cursor *cursor, MDB_cursor_op op, int with_data) {
	MDB_val k = of_text("?"), d = of_text("?");
	int rc = mdb_cursor_get(cursor, &k, with_data ? &d : NULL, op);
	printf("op %d%s: %d", op, with_data ? "" : " without a value", rc);
	print_value("key", &k);
	print_value("data", &d);
	printf("\n");
}

/* The last of a key's values is deleted: the cursor is still on the key. (slapd asks it for the key of the parent then.) */
static void last_value_deleted(MDB_env *env, int values) {
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, "last value", MDB_DUPSORT | MDB_CREATE);
	MUST(mdb_drop(txn, dbi, 0));
	char data[16], last[16];
	for (int i = 0; i < values; i++) {
		snprintf(data, sizeof data, "%08d", i);
		MUST(put(txn, dbi, "a", data, 0));
		MUST(put(txn, dbi, "b", data, 0));
	}
	for (const char *key = "a"; *key <= 'b'; key = *key == 'a' ? "b" : "c") {
		for (int with_data = 0; with_data < 2; with_data++) {
			MDB_cursor *cursor;
			MUST(mdb_cursor_open(txn, dbi, &cursor));
			snprintf(last, sizeof last, "%08d", values - 1 - with_data);
			move(cursor, MDB_GET_BOTH, key, last);
			MUST(mdb_cursor_del(cursor, 0));
			key_of(cursor, MDB_GET_CURRENT, with_data);
			key_of(cursor, MDB_GET_CURRENT, 1 - with_data);
			move(cursor, MDB_NEXT, NULL, NULL);
			key_of(cursor, MDB_GET_CURRENT, 1);
			/* One in the middle: the one after it comes next. */
			snprintf(last, sizeof last, "%08d", 1 + with_data);
			move(cursor, MDB_GET_BOTH, key, last);
			MUST(mdb_cursor_del(cursor, 0));
			key_of(cursor, MDB_GET_CURRENT, 0);
			move(cursor, MDB_NEXT, NULL, NULL);
			mdb_cursor_close(cursor);
		}
	}
	mdb_txn_abort(txn);
}

/* Thousands of values at once, in any order, some of them twice; then from the library's own memory to another key. */
static void side_by_side(MDB_env *env) {
	enum { COUNT = 3000 };
	static unsigned values[COUNT];
	const unsigned kinds[] = {0, MDB_REVERSEDUP, MDB_INTEGERDUP};
	for (int kind = 0; kind < 3; kind++) {
		MDB_txn *txn;
		MUST(mdb_txn_begin(env, NULL, 0, &txn));
		MDB_dbi dbi = table(txn, "side", MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED | kinds[kind]);
		MDB_cursor *cursor;
		MUST(mdb_cursor_open(txn, dbi, &cursor));
		for (int round = 0; round < 3; round++) {
			for (unsigned i = 0; i < COUNT; i++)
				values[i] = round == 1 ? i * 3 : (i * 7919 + round) % 5003;
			MDB_val key = of_text("one"), given[2] = {{4, values}, {round ? COUNT : 40, NULL}};
			SAY(mdb_cursor_put(cursor, &key, given, MDB_MULTIPLE));
			size_t values_now;
			SAY(mdb_cursor_count(cursor, &values_now));
			MDB_val k, d;
			SAY(mdb_cursor_get(cursor, &k, &d, MDB_GET_CURRENT));
			printf("%zu of them, %zu in all, on %u\n", given[1].mv_size, values_now, *(unsigned *)d.mv_data);
		}
		MDB_val from, many[2], to = of_text("two");
		SAY(mdb_cursor_get(cursor, &from, many, MDB_FIRST));
		SAY(mdb_cursor_get(cursor, &from, many, MDB_NEXT_DUP));
		SAY(mdb_cursor_get(cursor, &from, many, MDB_GET_MULTIPLE));
		many[1].mv_size = 50;
		many[0].mv_size = 4;
		SAY(mdb_cursor_put(cursor, &to, many, MDB_MULTIPLE));
		unsigned long sum = 0, step = 0;
		MDB_val k, d;
		for (int code = mdb_cursor_get(cursor, &k, &d, MDB_FIRST); !code; code = mdb_cursor_get(cursor, &k, &d, MDB_NEXT))
			sum = sum * 31 + *(unsigned *)d.mv_data + step++;
		printf("%lu values, which come to %lu\n", step, sum);
		SAY(mdb_drop(txn, dbi, 1));
		mdb_cursor_close(cursor);
		MUST(mdb_txn_commit(txn));
	}
}

/* What is looked for comes first, what is stored second: one that is looked for and ends in a star is all that begin so. */
static int beginnings(const MDB_val *sought, const MDB_val *stored) {
	size_t star = sought->mv_size && ((char *)sought->mv_data)[sought->mv_size - 1] == '*';
	size_t bytes = sought->mv_size - star, shorter = bytes < stored->mv_size ? bytes : stored->mv_size;
	int order = memcmp(sought->mv_data, stored->mv_data, shorter);
	if (order || (star && bytes <= stored->mv_size)) return order;
	return (int)bytes - (int)stored->mv_size;
}

static void sought_before_stored(MDB_env *env) {
	MDB_txn *txn = begin(env, 0);
	MDB_dbi keys = table(txn, "beginnings", MDB_CREATE), values = table(txn, "beginnings of values", MDB_CREATE | MDB_DUPSORT);
	SAY(mdb_set_compare(txn, keys, beginnings));
	SAY(mdb_set_dupsort(txn, values, beginnings));
	const char *words[] = {"fig", "apple", "date", "cherry", "elder", "banana"};
	for (int i = 0; i < 6; i++) {
		SAY(put(txn, keys, words[i], "1", 0));
		SAY(put(txn, values, "k", words[i], 0));
	}
	MDB_cursor *cursor;
	for (int later = 0; later < 2; later++) {
		get(txn, keys, "ch*");
		MUST(mdb_cursor_open(txn, keys, &cursor));
		move(cursor, MDB_SET_KEY, "da*", NULL);
		move(cursor, MDB_SET_RANGE, "b*", NULL);
		mdb_cursor_close(cursor);
		MUST(mdb_cursor_open(txn, values, &cursor));
		move(cursor, MDB_GET_BOTH, "k", "el*");
		move(cursor, MDB_GET_BOTH_RANGE, "k", "f*");
		mdb_cursor_close(cursor);
		MDB_val sought = of_text("ch*"), stored = of_text("cherry");
		printf("%d %d\n", mdb_cmp(txn, keys, &sought, &stored), mdb_cmp(txn, keys, &stored, &sought) > 0);
		printf("%d\n", mdb_dcmp(txn, values, &sought, &stored));
		if (later) break;
		SAY(del(txn, keys, "el*", NULL));
		SAY(del(txn, values, "k", "ap*"));
		walk(txn, keys);
		walk(txn, values);
		MUST(mdb_txn_commit(txn));
		txn = begin(env, MDB_RDONLY);
	}
	mdb_txn_abort(txn);
}

/* By their first four bytes. */
static int records(const MDB_val *a, const MDB_val *b) {
	return memcmp(a->mv_data, b->mv_data, 4);
}

/* Records are found, and deleted, by their beginnings, or by something longer that begins so. */
static void deleted_by_a_part(MDB_env *env) {
	static char longer[600];
	MDB_txn *txn = begin(env, 0);
	for (unsigned fixed = 0; fixed <= MDB_DUPFIXED; fixed += MDB_DUPFIXED) {
		MDB_dbi dbi = table(txn, fixed ? "fixed records" : "records", MDB_CREATE | MDB_DUPSORT | fixed);
		SAY(mdb_set_compare(txn, dbi, records));
		SAY(mdb_set_dupsort(txn, dbi, records));
		for (int i = 0; i < 40; i++) {
			char bytes[40];
			snprintf(bytes, sizeof bytes, "%04d and what else is known of it", i);
			SAY(put(txn, dbi, "key 1", bytes, 0));
		}
		MDB_cursor *cursor = NULL;
		for (int open = 0; open < 2; open++) {
			if (open) MUST(mdb_cursor_open(txn, dbi, &cursor));
			SAY(del(txn, dbi, "key 2", open ? "0011" : "0001"));
			SAY(del(txn, dbi, "key 3", open ? "0011" : "0001"));
			memset(longer, 'x', sizeof longer);
			memcpy(longer, open ? "0012" : "0002", 4);
			MDB_val k = of_text("key "), d = of_bytes(longer, sizeof longer);
			SAY(mdb_del(txn, dbi, &k, &d));
			SAY(mdb_del(txn, dbi, &k, &d));
			memcpy(longer, "key ", 4);
			k = of_bytes(longer, sizeof longer), d = of_text("0020");
			SAY(mdb_del(txn, dbi, &k, &d));
			d = of_text("none");
			SAY(mdb_del(txn, dbi, &k, &d));
		}
		walk(txn, dbi);
		mdb_cursor_close(cursor);
		MDB_val k = of_bytes(longer, sizeof longer);
		SAY(mdb_del(txn, dbi, &k, NULL));
		walk(txn, dbi);
	}
	mdb_txn_abort(txn);
}

/* Whether a key may be there, or comes last, is asked of the first of its values. */
static void many_under_conditions(MDB_env *env) {
	unsigned flags[] = {MDB_APPEND, MDB_NOOVERWRITE, MDB_APPENDDUP, MDB_NODUPDATA, MDB_APPEND | MDB_NOOVERWRITE, MDB_APPEND | MDB_NODUPDATA};
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, "conditions", MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED);
	MDB_cursor *cursor;
	MUST(mdb_cursor_open(txn, dbi, &cursor));
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		for (int key = 'a'; key < 'e'; key++) {
			char name[] = {"0123456789"[i], key, 0}, bytes[] = "6.7.8.9.aa";
			MDB_val k = of_text(name), many[2] = {of_bytes(bytes, 2), {5, NULL}};
			/* Some of them are there, or one behind all. */
			if (key == 'b') SAY(put(txn, dbi, name, "7.", 0));
			if (key == 'c') SAY(put(txn, dbi, name, "zz", 0));
			SAY(mdb_cursor_put(cursor, &k, many, flags[i] | MDB_MULTIPLE));
			printf("stored %zu\n", many[1].mv_size);
			move(cursor, MDB_GET_CURRENT, NULL, NULL);
		}
	walk(txn, dbi);
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
}

int main(int argc, char **argv) {
	base = argc > 1 ? argv[1] : ".";
	setvbuf(stdout, NULL, _IOLBF, 0);
	MDB_env *env = open_env("entries", 0);
	plain(env);
	changed_in_place(env);
	movements(env, "one value", 0);
	movements(env, "many values", MDB_DUPSORT);
	movements(env, "fixed size", MDB_DUPSORT | MDB_DUPFIXED);
	movements(env, "reversed", MDB_REVERSEKEY | MDB_DUPSORT | MDB_REVERSEDUP);
	after_deletions(env, "one value", 0);
	after_deletions(env, "many values", MDB_DUPSORT);
	replaced_ahead(env, "alone", 0);
	replaced_ahead(env, "among others", MDB_DUPSORT);
	mdb_env_close(env);
	env = open_env("gaps", 0);
	after_deletions(env, NULL, 0);
	mdb_env_close(env);
	env = open_env("orders", 0);
	orders(env);
	side_by_side(env);
	sought_before_stored(env);
	deleted_by_a_part(env);
	many_under_conditions(env);
	last_value_deleted(env, 5);
	last_value_deleted(env, 2000);
	mdb_env_close(env);
	all_respelled();
	main_with_flags();
	return 0;
}
