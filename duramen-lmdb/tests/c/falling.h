/* Leaving the library by longjmp, out of the function that compares keys. */
#ifndef FALLING_H
#define FALLING_H

#include "say.h"
#include <setjmp.h>

enum { GET, SEEK, SEEK_PAIR, PUT, PUT_NEW, DEL, KINDS };

static jmp_buf out;
static int countdown;

/* Compares so many times, then jumps. */
static int jump_from_order(const MDB_val *a, const MDB_val *b) {
	if (!countdown--) longjmp(out, 1);
	size_t shorter = a->mv_size < b->mv_size ? a->mv_size : b->mv_size;
	int order = memcmp(a->mv_data, b->mv_data, shorter);
	return order ? order : (int)a->mv_size - (int)b->mv_size;
}

/* A table of 500 entries with that order, of keys and of values. */
static MDB_dbi ordered(MDB_env *env) {
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, "ordered", MDB_CREATE | MDB_DUPSORT);
	MUST(mdb_set_compare(txn, dbi, jump_from_order));
	MUST(mdb_set_dupsort(txn, dbi, jump_from_order));
	countdown = 1 << 30;
	for (int i = 0; i < 500; i++) {
		char key[16], data[16];
		snprintf(key, sizeof key, "k%d", i / 2);
		snprintf(data, sizeof data, "k%d", i % 20);
		MUST(put(txn, dbi, key, data, 0));
	}
	MUST(mdb_txn_commit(txn));
	return dbi;
}

static int compare(MDB_txn *txn, MDB_dbi dbi, int kind) {
	MDB_cursor *cursor;
	MDB_val k = of_text("k50"), d = of_text("k5");
	switch (kind) {
	case GET: return mdb_get(txn, dbi, &k, &d);
	case PUT: return mdb_put(txn, dbi, &k, &d, 0);
	case PUT_NEW: return mdb_put(txn, dbi, &k, &d, MDB_NOOVERWRITE);
	case DEL: return mdb_del(txn, dbi, &k, &d);
	default:
		MUST(mdb_cursor_open(txn, dbi, &cursor));
		return mdb_cursor_get(cursor, &k, &d, kind == SEEK ? MDB_SET_RANGE : MDB_GET_BOTH);
	}
}

/* Whether a call was left after so many comparisons. */
static int jumps_from(MDB_txn *txn, MDB_dbi dbi, int kind, int comparisons) {
	countdown = comparisons;
	int jumped = setjmp(out);
	if (!jumped) compare(txn, dbi, kind);
	countdown = 1 << 30;
	return jumped;
}

#endif
