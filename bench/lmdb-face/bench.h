/* What all parts of the benchmark need: how long, how many, and entries made from their numbers. */
#ifndef BENCH_H
#define BENCH_H

#include <lmdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEY = 16, VALUE = 100 };

#define MUST(call)                                                                               \
	do {                                                                                         \
		int must = (call);                                                                       \
		if (must) {                                                                              \
			fprintf(stderr, "%s:%d %s: %s\n", __FILE__, __LINE__, #call, mdb_strerror(must));    \
			exit(1);                                                                             \
		}                                                                                        \
	} while (0)

static inline uint64_t mixed(uint64_t n) {
	n += 0x9e3779b97f4a7c15u;
	n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9u;
	n = (n ^ (n >> 27)) * 0x94d049bb133111ebu;
	return n ^ (n >> 31);
}

static inline double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* What has been touched, so that no look at it is left out. */
extern volatile uint64_t sum;

static inline void touch(MDB_val *value) {
	const unsigned char *bytes = value->mv_data;
	sum += bytes[0] + bytes[value->mv_size - 1];
}

static inline void make_key(unsigned char key[KEY], uint64_t n) {
	uint64_t words[2] = {mixed(n), mixed(~n)};
	memcpy(key, words, KEY);
}

static inline void say(const char *name, double began, uint64_t count) {
	printf("%s\t%.0f\n", name, count / (now() - began));
	fflush(stdout);
}

static inline MDB_env *open_env(const char *path, unsigned flags) {
	MDB_env *env;
	MUST(mdb_env_create(&env));
	MUST(mdb_env_set_mapsize(env, (size_t)8 << 30));
	MUST(mdb_env_set_maxdbs(env, 256));
	MUST(mdb_env_open(env, path, flags, 0600));
	return env;
}

static inline void put(MDB_txn *txn, MDB_dbi dbi, uint64_t n, uint64_t version) {
	unsigned char key[KEY], value[VALUE];
	make_key(key, n);
	for (size_t i = 0; i < VALUE; i += 4) {
		uint32_t word = (uint32_t)mixed(n * 31 + version + i);
		memcpy(value + i, &word, 4);
	}
	MDB_val k = {KEY, key}, v = {VALUE, value};
	MUST(mdb_put(txn, dbi, &k, &v, 0));
}

static inline MDB_txn *begin(MDB_env *env, unsigned flags) {
	MDB_txn *txn;
	MUST(mdb_txn_begin(env, NULL, flags, &txn));
	return txn;
}

/* A table, which is made if it is not there. */
static inline MDB_dbi table(MDB_env *env, const char *name, unsigned flags) {
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi;
	MUST(mdb_dbi_open(txn, name, flags | MDB_CREATE, &dbi));
	MUST(mdb_txn_commit(txn));
	return dbi;
}

static inline MDB_cursor *cursor_on(MDB_txn *txn, MDB_dbi dbi) {
	MDB_cursor *cursor;
	MUST(mdb_cursor_open(txn, dbi, &cursor));
	return cursor;
}

/* The works of habits.c, in an environment of their own. */
void habits(const char *path, uint64_t n);
/* The works of small.c, likewise. */
void small(const char *path);
/* The works of random.c, likewise. */
void at_random(const char *path, uint64_t seed);

#endif
