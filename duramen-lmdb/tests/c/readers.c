/* Read transactions in one that writes, as LMDB has them from 1.0 on. Prints nothing but failures. */
#include <pthread.h>

#include "is.h"

enum { ENTRIES = 3000, THREADS = 4, ROUNDS = 20, LARGE = 9000 };

static MDB_env *env;
static MDB_txn *writer;
static MDB_dbi entries, several;
static char large[LARGE];

static MDB_val number(int *n) { return (MDB_val){ sizeof *n, n }; }

/* What the writer has stored so far, without a commit. */
static void store(void)
{
	for (int i = 0; i < ENTRIES; i++) {
		MDB_val key = number(&i), data = { i % 100 ? 40 : LARGE, large };
		IS(mdb_put(writer, entries, &key, &data, 0), 0);
		int of = i % 10;
		key = number(&of), data = number(&i);
		IS(mdb_put(writer, several, &key, &data, 0), 0);
	}
}

/* Finds all of it. */
static void look(MDB_txn *reader)
{
	MDB_cursor *cursor;
	MDB_val key, data;
	MDB_stat stat;
	int count = 0;
	IS(mdb_stat(reader, entries, &stat), 0);
	IS((int)stat.ms_entries, ENTRIES);
	IS(mdb_cursor_open(reader, entries, &cursor), 0);
	while (!mdb_cursor_get(cursor, &key, &data, MDB_NEXT)) count += memcmp(data.mv_data, large, data.mv_size) == 0;
	IS(count, ENTRIES);
	mdb_cursor_close(cursor);
	IS(mdb_cursor_open(reader, several, &cursor), 0);
	for (int i = 9; i >= 0; i--) {
		mdb_size_t values;
		int last;
		key = number(&i);
		IS(mdb_cursor_get(cursor, &key, &data, MDB_SET_KEY), 0);
		IS(mdb_cursor_count(cursor, &values), 0);
		IS((int)values, ENTRIES / 10);
		IS(mdb_cursor_get(cursor, &key, &data, MDB_LAST_DUP), 0);
		memcpy(&last, data.mv_data, sizeof last);
		IS(last % 10, i);
	}
	mdb_cursor_close(cursor);
	int missing = ENTRIES;
	key = number(&missing);
	IS(mdb_get(reader, entries, &key, &data), MDB_NOTFOUND);
}

static void *read_and_end(void *unused)
{
	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		MDB_txn *reader;
		IS(mdb_txn_begin(env, writer, MDB_RDONLY, &reader), 0);
		look(reader);
		if (i % 2) mdb_txn_abort(reader);
		else IS(mdb_txn_commit(reader), 0);
	}
	return NULL;
}

static void read_in_threads(void)
{
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++) IS(pthread_create(&threads[i], NULL, read_and_end, NULL), 0);
	for (int i = 0; i < THREADS; i++) IS(pthread_join(threads[i], NULL), 0);
}

/* The writer waits for them, and may have no child of another kind meanwhile; they change nothing, and have no children. */
static void exclude_each_other(void)
{
	MDB_txn *one, *other, *child;
	MDB_cursor *cursor;
	MDB_dbi opened;
	MDB_stat stat;
	int n = 5;
	unsigned int flags = 0;
	MDB_val key = number(&n), data = key, found;
	IS(mdb_cursor_open(writer, entries, &cursor), 0);
	IS(mdb_txn_begin(env, writer, MDB_RDONLY, &one), 0);
	IS(mdb_txn_begin(env, writer, MDB_RDONLY, &other), 0);
	IS(mdb_txn_id(one) == mdb_txn_id(writer), 1);
	IS(mdb_txn_flags(one, &flags), 0);
	IS(flags & MDB_RDONLY, MDB_RDONLY);
	IS(mdb_txn_env(one) == env, 1);
	IS(mdb_put(one, entries, &key, &data, 0), MDB_IS_READONLY);
	IS(mdb_del(one, entries, &key, NULL), MDB_IS_READONLY);
	IS(mdb_drop(one, entries, 0), MDB_IS_READONLY);
	IS(mdb_txn_begin(env, one, MDB_RDONLY, &child), EINVAL);
	IS(mdb_txn_begin(env, one, 0, &child), EINVAL);
	IS(mdb_txn_begin(env, writer, 0, &child), MDB_BAD_TXN);
	IS(mdb_get(writer, entries, &key, &found), MDB_BAD_TXN);
	IS(mdb_put(writer, entries, &key, &data, 0), MDB_BAD_TXN);
	IS(mdb_cursor_get(cursor, &key, &found, MDB_FIRST), MDB_BAD_TXN);
	mdb_txn_reset(one);
	IS(mdb_txn_renew(one), EINVAL);
	IS(mdb_get(one, entries, &key, &found), 0);
	IS(mdb_dbi_open(one, "nowhere", 0, &opened), MDB_NOTFOUND);
	IS(mdb_dbi_open(one, "table", 0, &opened), 0);
	IS(opened == entries, 1);
	mdb_txn_abort(one);
	IS(mdb_put(writer, entries, &key, &data, 0), MDB_BAD_TXN);
	IS(mdb_get(other, entries, &key, &found), 0);
	IS(mdb_txn_commit(other), 0);
	IS(mdb_cursor_get(cursor, &key, &found, MDB_FIRST), 0);
	mdb_cursor_close(cursor);
	IS(mdb_stat(writer, entries, &stat), 0);
	IS((int)stat.ms_entries, ENTRIES);

	IS(mdb_txn_begin(env, writer, 0, &child), 0);
	IS(mdb_txn_begin(env, writer, MDB_RDONLY, &one), EINVAL);
	IS(mdb_del(child, entries, &key, NULL), 0);
	IS(mdb_txn_begin(env, child, MDB_RDONLY, &one), 0);
	IS(mdb_get(one, entries, &key, &found), MDB_NOTFOUND);
	mdb_txn_abort(one);
	mdb_txn_abort(child);
	IS(mdb_txn_begin(env, writer, MDB_RDONLY, &one), 0);
	IS(mdb_get(one, entries, &key, &found), 0);
	mdb_txn_abort(one);
}

int main(int argc, char **argv)
{
	MDB_txn *reader;
	MDB_val key, found;
	int n = 7;
	(void)argc;
	memset(large, 'v', sizeof large);
	IS(mdb_env_create(&env), 0);
	IS(mdb_env_set_maxdbs(env, 4), 0);
	IS(mdb_env_set_mapsize(env, 64 << 20), 0);
	IS(mdb_env_open(env, argv[1], MDB_NOSYNC, 0644), 0);
	IS(mdb_txn_begin(env, NULL, 0, &writer), 0);
	IS(mdb_dbi_open(writer, "table", MDB_CREATE | MDB_INTEGERKEY, &entries), 0);
	IS(mdb_dbi_open(writer, "several", MDB_CREATE | MDB_DUPSORT, &several), 0);
	store();
	read_in_threads();
	exclude_each_other();
	read_in_threads();
	IS(mdb_txn_commit(writer), 0);

	/* Who reads what is committed does not see what is not. */
	IS(mdb_txn_begin(env, NULL, 0, &writer), 0);
	key = number(&n);
	IS(mdb_del(writer, entries, &key, NULL), 0);
	IS(mdb_txn_begin(env, writer, MDB_RDONLY, &reader), 0);
	IS(mdb_get(reader, entries, &key, &found), MDB_NOTFOUND);
	mdb_txn_abort(reader);
	/* A transaction takes those with it that are left. */
	IS(mdb_txn_begin(env, writer, MDB_RDONLY, &reader), 0);
	mdb_txn_abort(writer);
	IS(mdb_txn_begin(env, NULL, MDB_RDONLY, &reader), 0);
	look(reader);
	mdb_txn_abort(reader);
	mdb_env_close(env);
	return failures != 0;
}
