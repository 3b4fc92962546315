/* What the test programs share: each call is printed with its return code, so that two libraries can be compared by what
 * the same program prints. */
#pragma GCC diagnostic ignored "-Wunused-function"

#ifndef SAY_H
#define SAY_H

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAY(call)                                        \
	do {                                                 \
		int say_rc = (call);                             \
		printf("%s:%d %d\n", __func__, __LINE__, say_rc); \
	} while (0)

#define MUST(call)                                                                              \
	do {                                                                                        \
		int must_rc = (call);                                                                   \
		if (must_rc) {                                                                          \
			printf("%s:%d FAILED %d %s\n", __func__, __LINE__, must_rc, mdb_strerror(must_rc)); \
			exit(1);                                                                            \
		}                                                                                       \
	} while (0)

static MDB_val of_bytes(const void *data, size_t size) {
	MDB_val value = {size, (void *)data};
	return value;
}

static MDB_val of_text(const char *text) { return of_bytes(text, strlen(text)); }

static void print_value(const char *what, const MDB_val *value) {
	printf(" %s=%zu:", what, value->mv_size);
	for (size_t i = 0; i < value->mv_size && i < 24; i++) {
		unsigned char c = ((unsigned char *)value->mv_data)[i];
		printf(c >= 32 && c < 127 ? "%c" : "\\%02x", c);
	}
}

static int put(MDB_txn *txn, MDB_dbi dbi, const char *key, const char *data, unsigned flags) {
	MDB_val k = of_text(key), d = of_text(data);
	return mdb_put(txn, dbi, &k, &d, flags);
}

static int del(MDB_txn *txn, MDB_dbi dbi, const char *key, const char *data) {
	MDB_val k = of_text(key), d = of_text(data ? data : "");
	return mdb_del(txn, dbi, &k, data ? &d : NULL);
}

static void get(MDB_txn *txn, MDB_dbi dbi, const char *key) {
	MDB_val k = of_text(key), d = {0, NULL};
	int rc = mdb_get(txn, dbi, &k, &d);
	printf("get %s %d", key, rc);
	if (!rc) print_value("data", &d);
	printf("\n");
}

/* A movement of a cursor, with the key and value that it looks for or null, and all that it answers. */
static int move(MDB_cursor *cursor, MDB_cursor_op op, const char *key, const char *data) {
	MDB_val k = of_text(key ? key : "?"), d = of_text(data ? data : "?");
	int rc = mdb_cursor_get(cursor, &k, &d, op);
	printf("op %d %s/%s: %d", op, key ? key : "-", data ? data : "-", rc);
	if (!rc) {
		print_value("key", &k);
		print_value("data", &d);
	}
	printf("\n");
	return rc;
}

static void walk(MDB_txn *txn, MDB_dbi dbi) {
	MDB_cursor *cursor;
	MDB_val k, d;
	MUST(mdb_cursor_open(txn, dbi, &cursor));
	printf("walk:");
	int rc;
	while (!(rc = mdb_cursor_get(cursor, &k, &d, MDB_NEXT))) {
		print_value("", &k);
		print_value("", &d);
	}
	printf(" %d\n", rc);
	mdb_cursor_close(cursor);
}

/* An environment in a directory of its own below the one that the program was given. */
static const char *base;
static char path[4096];

static const char *place(const char *name) {
	snprintf(path, sizeof path, "%s/%s", base, name);
	return path;
}

static MDB_env *open_env(const char *name, unsigned flags) {
	MDB_env *env;
	place(name);
	if (!(flags & MDB_NOSUBDIR)) mkdir(path, 0777);
	MUST(mdb_env_create(&env));
	MUST(mdb_env_set_maxdbs(env, 8));
	MUST(mdb_env_set_mapsize(env, 64 << 20));
	MUST(mdb_env_open(env, path, flags, 0644));
	return env;
}

static MDB_txn *begin(MDB_env *env, unsigned flags) {
	MDB_txn *txn;
	MUST(mdb_txn_begin(env, NULL, flags, &txn));
	return txn;
}

static MDB_dbi table(MDB_txn *txn, const char *name, unsigned flags) {
	MDB_dbi dbi;
	MUST(mdb_dbi_open(txn, name, flags, &dbi));
	return dbi;
}

#endif
