/* Keys, and values of several, that are longer than LMDB 0.9 has them: stored through the interface of 1.0, and there for
 * programs of 0.9, which may not store such ones. Built for either; prints nothing but failures. */
#include "is.h"

enum { KEYS = 40, SHORTEST = 480, STEP = 13 };

static char key_bytes[70000];
static MDB_env *env;
static MDB_txn *txn;
static MDB_dbi single, several;

/* The nth key, which differs from others of its length in its last byte. */
static MDB_val nth(int n)
{
	size_t size = SHORTEST + (size_t)(n / 2) * STEP;
	memset(key_bytes, 'k', size);
	memcpy(key_bytes + size - 3, (char[]){ (char)(n / 16 + 'a'), 'a', (char)(n % 16 + 'a') }, 3);
	return (MDB_val){ size, key_bytes };
}

static void find_all(int keys)
{
	MDB_cursor *cursor;
	MDB_val key, data;
	MDB_stat stat;
	IS(mdb_stat(txn, single, &stat), 0);
	IS((int)stat.ms_entries, keys);
	IS(mdb_stat(txn, several, &stat), 0);
	IS((int)stat.ms_entries, keys);
	IS(mdb_cursor_open(txn, several, &cursor), 0);
	for (int i = KEYS - keys; i < KEYS; i++) {
		MDB_val value = nth(i), one = { 3, "key" };
		IS(mdb_get(txn, single, &value, &data), 0);
		IS(memcmp(data.mv_data, &i, sizeof i), 0);
		IS(mdb_cursor_get(cursor, &one, &value, MDB_GET_BOTH), 0);
		IS((int)value.mv_size, (int)nth(i).mv_size);
		IS(mdb_cursor_get(cursor, &key, &value, MDB_GET_CURRENT), 0);
		IS(memcmp(value.mv_data, nth(i).mv_data, value.mv_size), 0);
	}
	mdb_cursor_close(cursor);
}

static void refuse(size_t size)
{
	MDB_val key = { size, key_bytes }, other = { 3, "key" }, data = { 3, "key" };
	IS(mdb_put(txn, single, &key, &data, 0), MDB_BAD_VALSIZE);
	IS(mdb_put(txn, several, &other, &key, 0), MDB_BAD_VALSIZE);
	key.mv_size = size, data = (MDB_val){ 3, "key" };
	IS(mdb_get(txn, single, &key, &data), MDB_NOTFOUND);
	IS(mdb_del(txn, single, &key, NULL), MDB_NOTFOUND);
}

/* The longest that may be stored, and one byte more. */
static void store_longest(void)
{
	size_t longest = mdb_env_get_maxkeysize(env);
	memset(key_bytes, 'l', longest + 1);
	MDB_val key = { longest, key_bytes }, one = { 3, "key" }, data = one;
	IS(mdb_put(txn, single, &key, &data, 0), 0);
	IS(mdb_put(txn, several, &one, &key, 0), 0);
	IS(mdb_get(txn, single, &key, &data), 0);
	IS(mdb_del(txn, single, &key, NULL), 0);
	key = (MDB_val){ longest, key_bytes };
	IS(mdb_del(txn, several, &one, &key), 0);
	refuse(longest + 1);
}

/* Deletes the nth key and value: by name, or under cursors of which another one stands there too. */
static void delete(int n, int by_cursor)
{
	MDB_cursor *cursors[2];
	MDB_val key = nth(n), one = { 3, "key" }, data;
	if (!by_cursor) {
		IS(mdb_del(txn, single, &key, NULL), 0);
		key = nth(n);
		IS(mdb_del(txn, several, &one, &key), 0);
		IS(mdb_del(txn, several, &one, &key), MDB_NOTFOUND);
		return;
	}
	for (int i = 0; i < 2; i++) {
		IS(mdb_cursor_open(txn, single, &cursors[i]), 0);
		key = nth(n);
		IS(mdb_cursor_get(cursors[i], &key, &data, MDB_SET), 0);
	}
	IS(mdb_cursor_del(cursors[0], 0), 0);
	IS(mdb_cursor_get(cursors[1], &key, &data, MDB_NEXT), n + 1 < KEYS ? 0 : MDB_NOTFOUND);
	if (n + 1 < KEYS) IS(memcmp(key.mv_data, nth(n + 1).mv_data, key.mv_size), 0);
	for (int i = 0; i < 2; i++) {
		mdb_cursor_close(cursors[i]);
		IS(mdb_cursor_open(txn, several, &cursors[i]), 0);
		key = nth(n);
		IS(mdb_cursor_get(cursors[i], &one, &key, MDB_GET_BOTH), 0);
	}
	/* What takes its own place leaves the other one there. */
	key = nth(n);
	int fits = (int)key.mv_size <= mdb_env_get_maxkeysize(env);
	IS(mdb_cursor_put(cursors[0], &one, &key, MDB_CURRENT), fits ? 0 : MDB_BAD_VALSIZE);
	IS(mdb_cursor_get(cursors[1], &key, &data, MDB_GET_CURRENT), 0);
	IS(memcmp(data.mv_data, nth(n).mv_data, data.mv_size), 0);
	IS(mdb_cursor_del(cursors[0], 0), 0);
	IS(mdb_cursor_get(cursors[1], &key, &data, MDB_NEXT), n + 1 < KEYS ? 0 : MDB_NOTFOUND);
	if (n + 1 < KEYS) IS(memcmp(data.mv_data, nth(n + 1).mv_data, data.mv_size), 0);
	for (int i = 0; i < 2; i++) mdb_cursor_close(cursors[i]);
}

static void store(void)
{
	for (int i = 0; i < KEYS; i++) {
		MDB_val key = nth(i), one = { 3, "key" }, data = { sizeof i, &i };
		IS(mdb_put(txn, single, &key, &data, 0), 0);
		key = nth(i);
		IS(mdb_put(txn, several, &one, &key, 0), 0);
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	int stores = MDB_VERSION_MAJOR > 0, keys = KEYS;
	IS(mdb_env_create(&env), 0);
	IS(mdb_env_set_maxdbs(env, 4), 0);
	IS(mdb_env_open(env, argv[1], MDB_NOSYNC, 0644), 0);
	IS(mdb_env_get_maxkeysize(env) > 511, stores);
	IS(mdb_txn_begin(env, NULL, 0, &txn), 0);
	IS(mdb_dbi_open(txn, "single", MDB_CREATE, &single), 0);
	IS(mdb_dbi_open(txn, "several", MDB_CREATE | MDB_DUPSORT, &several), 0);
	if (stores) store(), store_longest();
	else refuse(512), refuse(5000);
	find_all(keys);
	IS(mdb_txn_commit(txn), 0);
	IS(mdb_txn_begin(env, NULL, 0, &txn), 0);
	find_all(keys);
	for (int i = 0; !stores && i < KEYS; i++) {
		delete(i, i % 3);
		find_all(--keys);
	}
	for (int i = 0; stores && i < KEYS; i++) {
		MDB_txn *child;
		MDB_txn *parent = txn;
		IS(mdb_txn_begin(env, txn, 0, &child), 0);
		txn = child;
		for (int j = 0; j <= i; j++) delete(j, j % 3);
		find_all(KEYS - i - 1);
		mdb_txn_abort(child);
		txn = parent;
	}
	IS(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
	return failures != 0;
}
