/* Cursors of write transactions that came to an end, or stand where nothing is, and what they find when something has come
 * there: run on LMDB's own library and on this one, the answers must be the same. */
#include "say.h"

enum {
	AT_LAST,
	DELETED,
	MISSED_KEY,
	MISSED_BETWEEN,
	MISSED_AND_PUT,
	MISSED_AND_REFUSED,
	MISSED_AND_FAILED,
	MISSED_AND_CURRENT,
	MISSED_BEFORE_A_CHILD,
	MISSED_BEFORE_ONE_VALUE,
	REFUSED,
	ALL_DELETED,
	ALL_DELETED_BEHIND_WHICH_IT_IS,
	LAST_VALUE_DELETED,
	MISSED_VALUE,
	AT_LAST_KEY,
	WAYS
};

static void fill(MDB_txn *txn, MDB_dbi dbi, int duplicates) {
	for (char key[2] = "a"; *key < 'f'; ++*key) {
		MUST(put(txn, dbi, key, "v1", 0));
		if (!duplicates || *key % 2 == 0) continue;
		MUST(put(txn, dbi, key, "v2", 0));
		MUST(put(txn, dbi, key, "v3", 0));
	}
}

/* Stores by the cursor. */
static int put_by(MDB_cursor *cursor, size_t key_bytes, const char *key, const char *data, unsigned flags) {
	MDB_val k = of_bytes(key, key_bytes), d = of_text(data);
	return mdb_cursor_put(cursor, &k, &d, flags);
}

/* Stores where a search by the cursor has just found nothing, or elsewhere. */
static void miss_and_put(MDB_cursor *cursor, size_t key_bytes, const char *key, unsigned flags) {
	move(cursor, MDB_SET, "bb", NULL);
	SAY(put_by(cursor, key_bytes, key, "new", flags));
}

static void delete_all(MDB_txn *txn, MDB_dbi dbi) {
	for (char key[2] = "a"; *key < 'f'; ++*key) SAY(del(txn, dbi, key, NULL));
}

/* Goes where nothing is; then something comes there. */
static void go_to_end(MDB_txn *txn, MDB_dbi dbi, MDB_cursor *cursor, int way) {
	MDB_txn *child;
	move(cursor, MDB_LAST, NULL, NULL);
	switch (way) {
	case AT_LAST:
		move(cursor, MDB_NEXT, NULL, NULL);
		SAY(put(txn, dbi, "g", "new", 0));
		break;
	case DELETED:
		SAY(mdb_cursor_del(cursor, 0));
		move(cursor, MDB_NEXT, NULL, NULL);
		SAY(put(txn, dbi, "g", "new", 0));
		break;
	case MISSED_KEY:
		move(cursor, MDB_SET, "x", NULL);
		SAY(put(txn, dbi, "y", "new", 0));
		break;
	case MISSED_BETWEEN:
		move(cursor, MDB_SET, "bb", NULL);
		SAY(put(txn, dbi, "ba", "new", 0));
		SAY(put(txn, dbi, "bc", "new", 0));
		break;
	case MISSED_AND_PUT:
		miss_and_put(cursor, 2, "bb", 0);
		break;
	case MISSED_AND_REFUSED:
		miss_and_put(cursor, 1, "d", MDB_NOOVERWRITE);
		break;
	case MISSED_AND_FAILED:
		miss_and_put(cursor, 600, (char[600]){0}, 0);
		SAY(put(txn, dbi, "bc", "new", 0));
		break;
	case MISSED_AND_CURRENT:
		miss_and_put(cursor, 1, "c", MDB_CURRENT);
		break;
	case MISSED_BEFORE_A_CHILD:
		move(cursor, MDB_SET, "bb", NULL);
		MUST(mdb_txn_begin(mdb_txn_env(txn), txn, 0, &child));
		SAY(put(child, dbi, "bc", "new", 0));
		MUST(mdb_txn_commit(child));
		break;
	case MISSED_BEFORE_ONE_VALUE:
		move(cursor, MDB_SET, "cc", NULL);
		break;
	case REFUSED:
		SAY(put_by(cursor, 1, "c", "v2", MDB_NODUPDATA));
		break;
	case ALL_DELETED:
		delete_all(txn, dbi);
		SAY(put(txn, dbi, "g", "new", 0));
		break;
	case ALL_DELETED_BEHIND_WHICH_IT_IS:
		SAY(mdb_cursor_del(cursor, MDB_NODUPDATA));
		delete_all(txn, dbi);
		SAY(put(txn, dbi, "g", "new", 0));
		break;
	case LAST_VALUE_DELETED:
		move(cursor, MDB_SET, "c", NULL);
		move(cursor, MDB_LAST_DUP, NULL, NULL);
		SAY(mdb_cursor_del(cursor, 0));
		SAY(put(txn, dbi, "c", "v9", 0));
		break;
	case MISSED_VALUE:
		move(cursor, MDB_GET_BOTH_RANGE, "c", "v9");
		SAY(put(txn, dbi, "c", "va", 0));
		break;
	default:
		move(cursor, MDB_NEXT_NODUP, NULL, NULL);
		SAY(put(txn, dbi, "e", "v7", 0));
	}
}

static void count(MDB_cursor *cursor) {
	size_t values = 0;
	SAY(mdb_cursor_count(cursor, &values));
	printf("%zu values\n", values);
}

/* Several values at once, from where there is one, and after the last of several was asked for. */
static void multiples(MDB_env *env) {
	for (int several = 0; several < 2; several++) {
		MDB_txn *txn = begin(env, 0);
		MDB_dbi dbi = table(txn, "f", MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED);
		MDB_cursor *cursor;
		if (several) MUST(put(txn, dbi, "a", "v0", 0));
		MUST(put(txn, dbi, "a", "v1", 0));
		MUST(put(txn, dbi, "b", "v2", 0));
		MUST(mdb_cursor_open(txn, dbi, &cursor));
		move(cursor, MDB_NEXT_MULTIPLE, NULL, NULL);
		move(cursor, MDB_SET_KEY, "a", NULL);
		move(cursor, MDB_LAST_DUP, NULL, NULL);
		/* Of one value LMDB tells nothing. */
		if (several) move(cursor, MDB_GET_MULTIPLE, NULL, NULL);
		mdb_cursor_close(cursor);
		mdb_txn_abort(txn);
	}
}

int main(int argc, char **argv) {
	static const MDB_cursor_op ops[] = {MDB_NEXT, MDB_NEXT_DUP, MDB_NEXT_NODUP, MDB_PREV, MDB_GET_CURRENT, MDB_LAST_DUP, MDB_FIRST_DUP};
	base = argc > 1 ? argv[1] : ".";
	MDB_env *env = open_env("ends", 0);
	for (int duplicates = 0; duplicates < 2; duplicates++)
		for (int way = 0; way < WAYS; way++)
			for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
				/* From there LMDB gives a value twice, or passes others over. */
				if (duplicates && ops[i] == MDB_FIRST_DUP) continue;
				MDB_txn *txn = begin(env, 0);
				MDB_dbi dbi = table(txn, duplicates ? "d" : "p", MDB_CREATE | (duplicates ? MDB_DUPSORT : 0));
				MDB_cursor *cursor;
				fill(txn, dbi, duplicates);
				MUST(mdb_cursor_open(txn, dbi, &cursor));
				printf("%d %d %zu\n", duplicates, way, i);
				go_to_end(txn, dbi, cursor, way);
				/* Where a value has come since, LMDB has not counted it. */
				if (duplicates && !i && way < LAST_VALUE_DELETED) count(cursor);
				move(cursor, ops[i], NULL, NULL);
				move(cursor, MDB_NEXT, NULL, NULL);
				move(cursor, MDB_NEXT, NULL, NULL);
				move(cursor, MDB_PREV, NULL, NULL);
				move(cursor, MDB_PREV, NULL, NULL);
				mdb_cursor_close(cursor);
				mdb_txn_abort(txn);
			}
	multiples(env);
	mdb_env_close(env);
	return 0;
}
