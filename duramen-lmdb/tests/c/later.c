/* What LMDB 1.0 has beyond 0.9: there, or refused. Prints nothing but failures. */
#include "is.h"

static int encrypt(const MDB_val *src, MDB_val *dst, const MDB_val *key, int encdec)
{
	(void)src, (void)dst, (void)key, (void)encdec;
	return 1;
}

static void sum(const MDB_val *src, MDB_val *dst, const MDB_val *key)
{
	(void)src, (void)dst, (void)key;
}

static void refused(MDB_env *env, MDB_txn *txn)
{
	MDB_val key = { 3, "key" };
	IS(mdb_env_set_encrypt(env, encrypt, &key, 16), ENOTSUP);
	IS(mdb_env_set_checksum(env, sum, 8), ENOTSUP);
	IS(mdb_env_rollback(env, 1), ENOTSUP);
	IS(mdb_env_incr_dump(env, "nowhere", 1), ENOTSUP);
	IS(mdb_env_incr_dumpfd(env, 1, 1), ENOTSUP);
	IS(mdb_env_incr_loadfd(env, 0), ENOTSUP);
	IS(mdb_txn_prepare(txn), ENOTSUP);
}

/* A zero ends names of tables where they are keys of the main table, and is one of their bytes. */
static void names(MDB_txn *txn, MDB_dbi main_table)
{
	static const char *const all[] = { "a table", "another", "plain", "table" };
	MDB_cursor *cursor;
	MDB_val key, data;
	MDB_dbi opened;
	IS(mdb_cursor_open(txn, main_table, &cursor), 0);
	for (int i = 0; i < 4; i++) {
		int is_table = i != 2;
		IS(mdb_cursor_get(cursor, &key, &data, MDB_NEXT), 0);
		IS((int)key.mv_size, (int)strlen(all[i]) + is_table);
		IS(memcmp(key.mv_data, all[i], key.mv_size), 0);
		IS(mdb_cursor_is_db(cursor), is_table);
		if (is_table) IS(mdb_dbi_open(txn, key.mv_data, 0, &opened), 0);
		IS(mdb_get(txn, main_table, &key, &data), 0);
		IS(mdb_cursor_get(cursor, &key, &data, MDB_SET_KEY), 0);
		IS((int)key.mv_size, (int)strlen(all[i]) + is_table);
	}
	IS(mdb_cursor_get(cursor, &key, &data, MDB_NEXT), MDB_NOTFOUND);
	mdb_cursor_close(cursor);
}

static void keep_names(MDB_env *env, MDB_dbi main_table)
{
	MDB_txn *txn, *child;
	MDB_dbi other;
	IS(mdb_txn_begin(env, NULL, 0, &txn), 0);
	IS(mdb_txn_begin(env, txn, 0, &child), 0);
	IS(mdb_dbi_open(child, "another", MDB_CREATE, &other), 0);
	IS(mdb_dbi_open(child, "a table", MDB_CREATE | MDB_DUPSORT, &other), 0);
	names(child, main_table);
	IS(mdb_txn_commit(child), 0);
	names(txn, main_table);
	IS(mdb_txn_commit(txn), 0);
	IS(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
	names(txn, main_table);
	mdb_txn_reset(txn);
	MDB_val key = { 6, "table" }, data;
	IS(mdb_get(txn, main_table, &key, &data), EINVAL);
	IS(mdb_txn_renew(txn), 0);
	names(txn, main_table);
	mdb_txn_abort(txn);
}

/* What has a table's name is a table: nothing is put there, nothing deleted. */
static void no_entries_of_names(MDB_env *env, MDB_dbi main_table)
{
	MDB_txn *txn, *child;
	MDB_cursor *cursor;
	MDB_val key = { 6, "table" }, data = { 4, "lost" };
	unsigned int flags = 1;
	IS(mdb_txn_begin(env, NULL, 0, &txn), 0);
	IS(mdb_put(txn, main_table, &key, &data, 0), MDB_INCOMPATIBLE);
	IS(mdb_put(txn, main_table, &key, &data, MDB_NOOVERWRITE), MDB_KEYEXIST);
	IS(mdb_del(txn, main_table, &key, NULL), MDB_INCOMPATIBLE);
	IS(mdb_cursor_open(txn, main_table, &cursor), 0);
	IS(mdb_cursor_put(cursor, &key, &data, 0), MDB_INCOMPATIBLE);
	mdb_cursor_close(cursor);
	names(txn, main_table);
	IS(mdb_txn_begin(env, txn, 0, &child), 0);
	IS(mdb_txn_flags(txn, &flags), 0);
	IS(flags, 0);
	mdb_txn_abort(child);
	mdb_txn_abort(txn);
}

/* There is a code for that. */
static void read_only(MDB_env *env, MDB_dbi main_table)
{
	MDB_txn *txn;
	MDB_cursor *cursor;
	MDB_dbi other;
	MDB_val key = { 3, "key" }, data = key;
	IS(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
	IS(mdb_put(txn, main_table, &key, &data, 0), MDB_IS_READONLY);
	IS(mdb_del(txn, main_table, &key, NULL), MDB_IS_READONLY);
	IS(mdb_drop(txn, main_table, 0), MDB_IS_READONLY);
	IS(mdb_dbi_open(txn, "not there", MDB_CREATE, &other), MDB_IS_READONLY);
	IS(mdb_cursor_open(txn, main_table, &cursor), 0);
	IS(mdb_cursor_get(cursor, &key, &data, MDB_FIRST), 0);
	IS(mdb_cursor_put(cursor, &key, &data, 0), MDB_IS_READONLY);
	IS(mdb_cursor_del(cursor, 0), MDB_IS_READONLY);
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	IS(strncmp(mdb_strerror(MDB_IS_READONLY), "MDB_IS_READONLY: ", 17), 0);
	IS(mdb_env_create(&env), 0);
	IS(mdb_env_open(env, base, MDB_RDONLY, 0644), 0);
	IS(mdb_txn_begin(env, NULL, 0, &txn), MDB_IS_READONLY);
	IS(mdb_env_sync(env, 1), MDB_IS_READONLY);
	mdb_env_close(env);
}

/* With a map that is written to there is no nesting: not the transaction is bad, the question is. */
static void no_nesting(void)
{
	MDB_env *env;
	MDB_txn *txn, *child;
	IS(mdb_env_create(&env), 0);
	IS(mdb_env_open(env, base, MDB_WRITEMAP, 0644), 0);
	IS(mdb_txn_begin(env, NULL, 0, &txn), 0);
	IS(mdb_txn_begin(env, txn, 0, &child), EINVAL);
	IS(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
}

int main(int argc, char **argv)
{
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi main_table, table;
	MDB_cursor *cursor;
	MDB_stat stat;
	MDB_val key = { 5, "plain" }, data = { 5, "value" };
	unsigned int flags = 0;
	int major, minor, patch;

	base = argc > 1 ? argv[1] : ".";
	mdb_version(&major, &minor, &patch);
	IS(MDB_VERINT(major, minor, patch), MDB_VERSION_FULL);
	IS(mdb_env_create(&env), 0);
	IS(mdb_env_set_pagesize(env, 1000), EINVAL);
	IS(mdb_env_set_pagesize(env, 8192), 0);
	IS(mdb_env_set_maxdbs(env, 4), 0);
	IS(mdb_env_open(env, base, MDB_ENCRYPT, 0644), EINVAL);
	IS(mdb_env_open(env, base, MDB_REMAP_CHUNKS, 0644), 0);
	IS(mdb_env_stat(env, &stat), 0);
	IS(stat.ms_psize, 8192);

	IS(mdb_txn_begin(env, NULL, 0, &txn), 0);
	IS(mdb_txn_env(txn) == env, 1);
	IS(mdb_txn_flags(txn, &flags), 0);
	IS(flags & MDB_RDONLY, 0);
	IS(mdb_open(txn, NULL, 0, &main_table), 0);
	IS(mdb_put(txn, main_table, &key, &data, 0), 0);
	IS(mdb_open(txn, "table", MDB_CREATE, &table), 0);
	refused(env, txn);
	IS(mdb_txn_commit(txn), 0);

	IS(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
	IS(mdb_txn_flags(txn, &flags), 0);
	IS(flags & MDB_RDONLY, MDB_RDONLY);
	IS(mdb_cursor_open(txn, main_table, &cursor), 0);
	IS(mdb_cursor_get(cursor, &key, &data, MDB_FIRST), 0);
	IS(mdb_cursor_is_db(cursor), 0);
	IS(mdb_cursor_get(cursor, &key, &data, MDB_NEXT), 0);
	IS(mdb_cursor_is_db(cursor), 1);
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	keep_names(env, main_table);
	no_entries_of_names(env, main_table);
	for (int code = MDB_KEYEXIST; code <= MDB_LAST_ERRCODE; code++) IS(strncmp(mdb_strerror(code), "MDB_", 4), 0);
	read_only(env, main_table);
	mdb_close(env, table);
	mdb_env_close(env);
	no_nesting();
	return failures != 0;
}
