/* What this library promises where LMDB does not, or where the two cannot be compared. Prints nothing but failures. */
#include "is.h"
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Who is told that the map is full makes room: entries are changed and deleted one by one, and new ones fit again. */
static void full_by_putting(const char *name, unsigned flags, size_t mapsize) {
	MDB_env *env;
	char key[20];
	static char value[100];
	mkdir(place(name), 0777);
	IS(mdb_env_create(&env), 0);
	IS(mdb_env_set_mapsize(env, mapsize), 0);
	IS(mdb_env_open(env, place(name), flags, 0644), 0);
	for (int round = 0; round < 3; round++) {
		int number = 0, rc = 0;
		MDB_val k = {6, key}, d = {sizeof value, value};
		for (; !rc; number += !rc) {
			MDB_txn *txn = begin(env, 0);
			snprintf(key, sizeof key, "%06d", number);
			rc = mdb_put(txn, table(txn, NULL, 0), &k, &d, 0);
			rc = rc ? (mdb_txn_abort(txn), rc) : mdb_txn_commit(txn);
		}
		IS(rc, MDB_MAP_FULL);
		IS(number * 150 > (int)mapsize / 2, 1);
		for (int i = 0; i < number && !failures; i++) {
			snprintf(key, sizeof key, "%06d", i);
			MDB_txn *txn = begin(env, 0);
			IS(mdb_put(txn, table(txn, NULL, 0), &k, &d, 0), 0);
			IS(mdb_txn_commit(txn), 0);
			txn = begin(env, 0);
			IS(mdb_del(txn, table(txn, NULL, 0), &k, NULL), 0);
			IS(mdb_txn_commit(txn), 0);
		}
	}
	mdb_env_close(env);
}

/* A copy that could not be written to its end is not left where it could be taken for one. */
static void failing_copies(void) {
	MDB_env *env = open_env("too large", 0);
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, NULL, 0);
	char key[20];
	for (int i = 0; i < 20000; i++) {
		snprintf(key, sizeof key, "%d", i);
		IS(put(txn, dbi, key, "a value that takes some room", 0), 0);
	}
	IS(mdb_txn_commit(txn), 0);
	mkdir(place("cut"), 0777);
	struct rlimit before, little = {64 << 10, 0};
	getrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_IGN);
	for (unsigned flags = 0; flags <= MDB_CP_COMPACT; flags++) {
		little.rlim_max = before.rlim_max;
		setrlimit(RLIMIT_FSIZE, &little);
		IS(mdb_env_copy2(env, place("cut"), flags), EFBIG);
		setrlimit(RLIMIT_FSIZE, &before);
		IS(access(place("cut/data.mdb"), F_OK), -1);
		IS(mdb_env_copy2(env, place("cut"), flags), 0);
		IS(unlink(place("cut/data.mdb")), 0);
	}
	signal(SIGXFSZ, SIG_DFL);
	mdb_env_close(env);
}

/* A limit on the length of files, in a process that leaves its signal alone. */
static void limited(void) {
	pid_t child = fork();
	if (child == 0) {
		MDB_env *env = open_env("limited", MDB_NOSYNC);
		struct rlimit little = {1 << 20, 1 << 20};
		IS(setrlimit(RLIMIT_FSIZE, &little), 0);
		char key[20], value[1000] = "";
		memset(value, 'v', sizeof value - 1);
		int code = 0, stored = 0;
		for (; !code && stored < 3000; stored++) {
			MDB_txn *txn = begin(env, 0);
			snprintf(key, sizeof key, "%d", stored);
			code = put(txn, table(txn, NULL, 0), key, value, 0);
			if (code)
				mdb_txn_abort(txn);
			else
				code = mdb_txn_commit(txn);
		}
		IS(code, EFBIG);
		MDB_txn *txn = begin(env, MDB_RDONLY);
		MDB_stat numbers;
		IS(mdb_stat(txn, table(txn, NULL, 0), &numbers), 0);
		IS(numbers.ms_entries == (size_t)stored - 1, 1);
		mdb_txn_abort(txn);
		mdb_env_close(env);
		_exit(failures != 0);
	}
	int status;
	IS(waitpid(child, &status, 0) == child, 1);
	IS(status, 0);
}

/* The host may lengthen the file inside a write transaction; the length stays in a write-mapped environment. */
static void lengthening(void) {
	MDB_env *env = open_env("long", MDB_WRITEMAP | MDB_MAPASYNC | MDB_NOTLS);
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, NULL, 0);
	struct stat st;
	int fd;
	IS(put(txn, dbi, "a", "1", 0), 0);
	IS(mdb_env_get_fd(env, &fd), 0);
	IS(posix_fallocate(fd, 0, 16 << 20), 0);
	IS(mdb_txn_commit(txn), 0);
	txn = begin(env, 0);
	IS(put(txn, dbi, "b", "2", 0), 0);
	mdb_txn_abort(txn);
	fstat(fd, &st);
	IS(st.st_size >= 16 << 20, 1);
	IS(mdb_env_sync(env, 1), 0);
	mdb_env_close(env);
	stat(place("long/data.mdb"), &st);
	IS(st.st_size >= 16 << 20, 1);
	env = open_env("long", 0);
	txn = begin(env, MDB_RDONLY);
	MDB_val k = of_text("a"), d;
	IS(mdb_get(txn, table(txn, NULL, 0), &k, &d), 0);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

/* Postfix gives an environment 10240 bytes more than the file has, and must be able to empty it then. */
static void emptying(void) {
	MDB_env *env = open_env("postfix", MDB_NOSUBDIR | MDB_NOLOCK);
	MDB_txn *txn = begin(env, 0);
	static char value[2000];
	for (int i = 0; i < 500; i++) {
		MDB_val k = of_bytes(&i, sizeof i), d = of_bytes(value, sizeof value);
		IS(mdb_put(txn, 1, &k, &d, 0), 0);
	}
	IS(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
	struct stat st;
	stat(place("postfix"), &st);
	MUST(mdb_env_create(&env));
	IS(mdb_env_set_mapsize(env, st.st_size + 10240), 0);
	IS(mdb_env_open(env, place("postfix"), MDB_NOSUBDIR | MDB_NOLOCK, 0644), 0);
	txn = begin(env, 0);
	IS(mdb_drop(txn, 1, 0), 0);
	IS(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
}

/* Without a lock file, a transaction still sees what other processes have committed. */
static void unlocked(void) {
	MDB_env *env = open_env("unlocked", MDB_NOSUBDIR | MDB_NOLOCK), *own;
	MDB_txn *txn = begin(env, MDB_RDONLY);
	MDB_dbi dbi = table(txn, NULL, 0);
	mdb_txn_abort(txn);
	for (int i = 0; i < 20; i++) {
		MDB_val k = of_bytes(&i, sizeof i), d = of_text("value");
		fflush(stdout);
		pid_t child = fork();
		if (!child) {
			own = open_env("unlocked", MDB_NOSUBDIR | MDB_NOLOCK);
			txn = begin(own, 0);
			int rc = mdb_put(txn, table(txn, NULL, 0), &k, &d, 0);
			rc = rc ? rc : mdb_txn_commit(txn);
			mdb_env_close(own);
			_exit(rc != 0);
		}
		int status = 1;
		waitpid(child, &status, 0);
		IS(status, 0);
		txn = begin(env, MDB_RDONLY);
		IS(mdb_get(txn, dbi, &k, &d), 0);
		mdb_txn_abort(txn);
	}
	mdb_env_close(env);
}

/* Another process has raised the limit, and used it: this one is told, and takes the limit over. */
static void resized(void) {
	MDB_env *env;
	mkdir(place("resized"), 0777);
	MUST(mdb_env_create(&env));
	MUST(mdb_env_set_mapsize(env, 128 << 10));
	MUST(mdb_env_open(env, place("resized"), 0, 0644));
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		MDB_env *own = open_env("resized", 0);
		static char value[4000];
		MDB_txn *txn = begin(own, 0);
		for (int i = 0; i < 200; i++) {
			MDB_val k = of_bytes(&i, sizeof i), d = of_bytes(value, sizeof value);
			MUST(mdb_put(txn, 1, &k, &d, 0));
		}
		MUST(mdb_txn_commit(txn));
		mdb_env_close(own);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	MDB_txn *txn;
	IS(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), MDB_MAP_RESIZED);
	IS(mdb_txn_begin(env, NULL, 0, &txn), MDB_MAP_RESIZED);
	IS(mdb_env_set_mapsize(env, 0), 0);
	MDB_envinfo info;
	mdb_env_info(env, &info);
	IS(info.me_mapsize == 64 << 20, 1);
	IS(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

/* Keys and values that the transaction itself has handed out may be handed back to it. */
static void handed_back(void) {
	MDB_env *env = open_env("back", 0);
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, NULL, 0), other = table(txn, "other", MDB_CREATE);
	static char big[50000];
	memset(big, 'x', sizeof big);
	MDB_val k = of_text("big"), d = of_bytes(big, sizeof big), k2 = of_text("copy");
	IS(mdb_put(txn, dbi, &k, &d, 0), 0);
	IS(mdb_get(txn, dbi, &k, &d), 0);
	IS(mdb_put(txn, dbi, &k, &d, 0), 0);
	IS(mdb_get(txn, dbi, &k, &d), 0);
	IS(mdb_put(txn, dbi, &k2, &d, 0), 0);
	IS(mdb_put(txn, other, &k2, &d, 0), 0);
	IS(mdb_get(txn, dbi, &k, &d), 0);
	IS(d.mv_size == sizeof big && !memcmp(d.mv_data, big, sizeof big), 1);
	for (int i = 0; i < 300; i++) {
		char key[16];
		snprintf(key, sizeof key, "k%05d", i);
		IS(put(txn, other, key, key, 0), 0);
	}
	MDB_cursor *cursor;
	IS(mdb_cursor_open(txn, other, &cursor), 0);
	while (!mdb_cursor_get(cursor, &k, &d, MDB_FIRST)) IS(mdb_del(txn, other, &k, &d), 0);
	mdb_txn_abort(txn);
	/* Its transaction has ended, and it is closed all the same. */
	mdb_cursor_close(cursor);
	mdb_env_close(env);
}

/* Puts what a key has, from `skip` on, to another key (or the same): the value lies in the library's own memory. */
static void put_on(MDB_txn *txn, MDB_dbi dbi, const char *from, const char *to, size_t skip) {
	static unsigned char before[40000];
	MDB_val k = of_text(from), v;
	IS(mdb_get(txn, dbi, &k, &v), 0);
	size_t size = v.mv_size - skip;
	if (failures) return;
	memcpy(before, (char *)v.mv_data + skip, size);
	v = (MDB_val){size, (char *)v.mv_data + skip};
	k = of_text(to);
	IS(mdb_put(txn, dbi, &k, &v, 0), 0);
	IS(mdb_get(txn, dbi, &k, &v), 0);
	IS(v.mv_size == size, 1);
	if (!failures) IS(memcmp(v.mv_data, before, size), 0);
}

static void all_put_on(MDB_txn *txn, MDB_dbi dbi, int round) {
	char from[20], to[20];
	for (int i = 0; i < 1000 && !failures; i++) {
		snprintf(from, sizeof from, "%d", (i * 7 + round) % (i + 1));
		snprintf(to, sizeof to, "%d", i + 1);
		put_on(txn, dbi, from, to, 0);
		if (i % 5 == 0) put_on(txn, dbi, to, to, 1), put_on(txn, dbi, from, to, 0);
	}
	put_on(txn, dbi, "long", "another", 0);
	put_on(txn, dbi, "another", "another", 100);
	put_on(txn, dbi, "another", "long", 9000);
	put_on(txn, dbi, "another", "long", 0);
}

/* Values that the library has handed out may be stored again, whether they are in the file, in this transaction or in
 * the one that it is nested in, long or short. */
static void handed_back_again(void) {
	MDB_env *env = open_env("own memory", MDB_NOSYNC);
	static unsigned char bytes[30000];
	for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 31 >> 3);
	for (int round = 0; round < 3 && !failures; round++) {
		MDB_txn *txn = begin(env, 0), *child;
		MDB_dbi dbi = table(txn, NULL, 0);
		MDB_val k = of_text("0"), v = {300, bytes + round};
		MUST(mdb_put(txn, dbi, &k, &v, 0));
		k = of_text("long"), v = (MDB_val){sizeof bytes, bytes};
		MUST(mdb_put(txn, dbi, &k, &v, 0));
		if (round == 1) {
			MUST(mdb_txn_commit(txn));
			txn = begin(env, 0);
		}
		if (round == 2) {
			MUST(mdb_txn_begin(env, txn, 0, &child));
			all_put_on(child, dbi, round);
			MUST(mdb_txn_commit(child));
		}
		all_put_on(txn, dbi, round);
		MDB_cursor *cursor;
		MUST(mdb_cursor_open(txn, dbi, &cursor));
		k = of_text("another");
		IS(mdb_cursor_get(cursor, &k, &v, MDB_SET_KEY), 0);
		size_t size = v.mv_size - 11;
		memcpy(bytes, (char *)v.mv_data + 11, size);
		v = (MDB_val){size, (char *)v.mv_data + 11};
		IS(mdb_cursor_put(cursor, &k, &v, MDB_CURRENT), 0);
		IS(mdb_cursor_get(cursor, &k, &v, MDB_GET_CURRENT), 0);
		IS(v.mv_size == size, 1);
		if (!failures) IS(memcmp(v.mv_data, bytes, size), 0);
		mdb_cursor_close(cursor);
		MUST(mdb_txn_commit(txn));
	}
	mdb_env_close(env);
}

/* A value that a table cannot hold is refused, and the one that it was to replace stays. */
static void refused_over(void) {
	static const unsigned kinds[] = {MDB_DUPFIXED, MDB_DUPFIXED | MDB_INTEGERDUP, MDB_INTEGERDUP};
	MDB_env *env = open_env("refused-over", 0);
	for (int kind = 0; kind < 3; kind++) {
		char name[] = "t0";
		name[1] += kind;
		MDB_txn *txn = begin(env, 0);
		MDB_dbi dbi = table(txn, name, MDB_CREATE | MDB_DUPSORT | kinds[kind]);
		for (uint64_t i = 0; i < 4; i++) {
			MDB_val k = of_text(i ? "several" : "one"), v = {sizeof i, &i};
			IS(mdb_put(txn, dbi, &k, &v, 0), 0);
		}
		MDB_cursor *cursor;
		MUST(mdb_cursor_open(txn, dbi, &cursor));
		for (int i = 0; i < 4; i++) {
			MDB_val k = of_text(i & 1 ? "several" : "one"), v;
			IS(mdb_cursor_get(cursor, &k, &v, MDB_SET), 0);
			char wrong[5] = {9, 9, 9, 9, 9};
			v = (MDB_val){i & 2 ? 5 : 4, wrong};
			IS(mdb_cursor_put(cursor, &k, &v, MDB_CURRENT), MDB_BAD_VALSIZE);
			size_t count = 0;
			IS(mdb_cursor_count(cursor, &count), 0);
			IS(count, i & 1 ? 3 : 1);
		}
		mdb_cursor_close(cursor);
		MDB_stat stat;
		IS(mdb_stat(txn, dbi, &stat), 0);
		IS(stat.ms_entries, 4);
		MUST(mdb_txn_commit(txn));
	}
	mdb_env_close(env);
}

/* A cursor that rested while entries came and went goes on from the place where it stood. */
static void rested(void) {
	MDB_env *env = open_env("rested", MDB_NOTLS);
	MDB_txn *txn = begin(env, 0), *reader;
	MDB_dbi dbi = table(txn, "t", MDB_CREATE | MDB_DUPSORT);
	for (int i = 0; i < 9; i++) {
		char key[] = "k0", data[] = "v0";
		key[1] += i / 3;
		data[1] += i % 3;
		IS(put(txn, dbi, key, data, 0), 0);
	}
	IS(mdb_txn_commit(txn), 0);
	/* What it stood on, what was deleted meanwhile (a value, or a key with all its values), and what comes next. */
	static const char *const cases[][6] = {
		{"k1", "v1", "k1", "v1", "k1", "v2"}, {"k1", "v2", "k1", "v2", "k2", "v0"}, {"k0", "v1", "k0", NULL, "k1", "v0"},
		{"k1", "v0", "k0", NULL, "k1", "v1"}, {"k2", "v0", "k2", NULL, NULL, NULL},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		MDB_cursor *cursor;
		const char *const *now = cases[i];
		MDB_val k = of_text(now[0]), d = of_text(now[1]);
		reader = begin(env, MDB_RDONLY);
		IS(mdb_cursor_open(reader, dbi, &cursor), 0);
		IS(mdb_cursor_get(cursor, &k, &d, MDB_GET_BOTH), 0);
		mdb_txn_reset(reader);
		MDB_env *other = open_env("rested", MDB_NOTLS);
		txn = begin(other, 0);
		IS(del(txn, table(txn, "t", 0), now[2], now[3]), 0);
		IS(mdb_txn_commit(txn), 0);
		IS(mdb_txn_renew(reader), 0);
		IS(mdb_cursor_get(cursor, &k, &d, MDB_NEXT), now[4] ? 0 : MDB_NOTFOUND);
		if (now[4]) IS(k.mv_size == 2 && d.mv_size == 2 && !memcmp(k.mv_data, now[4], 2) && !memcmp(d.mv_data, now[5], 2), 1);
		mdb_cursor_close(cursor);
		mdb_txn_abort(reader);
		/* As before. */
		txn = begin(other, 0);
		for (int j = 0; j < 9; j++) {
			char key[] = "k0", data[] = "v0";
			key[1] += j / 3;
			data[1] += j % 3;
			int rc = put(txn, table(txn, "t", 0), key, data, MDB_NODUPDATA);
			IS(rc == 0 || rc == MDB_KEYEXIST, 1);
		}
		IS(mdb_txn_commit(txn), 0);
		mdb_env_close(other);
	}
	mdb_env_close(env);
}

static void *read_for_a_while(void *env) {
	for (int i = 0; i < 200; i++) {
		MDB_txn *txn;
		MDB_val k, d;
		MDB_cursor *cursor;
		if (mdb_txn_begin(env, NULL, MDB_RDONLY, &txn)) abort();
		if (mdb_cursor_open(txn, 1, &cursor)) abort();
		int rc, count = 0;
		while (!(rc = mdb_cursor_get(cursor, &k, &d, MDB_NEXT))) count++;
		if (rc != MDB_NOTFOUND || count % 10) abort();
		mdb_cursor_close(cursor);
		mdb_txn_abort(txn);
	}
	return NULL;
}

static void threads(void) {
	MDB_env *env = open_env("threads", MDB_NOSYNC);
	pthread_t readers[4];
	for (int i = 0; i < 4; i++) pthread_create(&readers[i], NULL, read_for_a_while, env);
	for (int i = 0; i < 100; i++) {
		MDB_txn *txn = begin(env, 0);
		for (int j = 0; j < 10; j++) {
			int key = i * 10 + j;
			MDB_val k = of_bytes(&key, sizeof key), d = of_text("value");
			MUST(mdb_put(txn, 1, &k, &d, 0));
		}
		MUST(mdb_txn_commit(txn));
	}
	for (int i = 0; i < 4; i++) pthread_join(readers[i], NULL);
	mdb_env_close(env);
}

static void *open_and_drop_for_a_while(void *env) {
	for (int i = 0; i < 2000; i++) {
		MDB_txn *txn = begin(env, 0);
		MDB_dbi dbi = table(txn, i % 2 ? "one" : "other", MDB_CREATE);
		MUST(put(txn, dbi, "key", "value", 0));
		if (i % 5 == 0) MUST(mdb_drop(txn, dbi, 1));
		MUST(mdb_txn_commit(txn));
	}
	return NULL;
}

/* Threads that write, and open tables by name each time, have one handle for each: none is left of what another drops. */
static void dropping_threads(void) {
	MDB_env *env = open_env("dropping threads", MDB_NOSYNC);
	pthread_t writers[4];
	for (int i = 0; i < 4; i++) pthread_create(&writers[i], NULL, open_and_drop_for_a_while, env);
	for (int i = 0; i < 4; i++) pthread_join(writers[i], NULL);
	mdb_env_close(env);
}

static void *write_elsewhere(void *env) {
	mdb_txn_abort(begin(env, 0));
	return NULL;
}

/* A thread that has a write transaction and wants another one is told so, also through a second environment. */
static void waiting_for_oneself(void) {
	MDB_env *env = open_env("oneself", 0), *again = open_env("oneself", 0), *other = open_env("another", 0);
	MDB_txn *refused;
	pthread_t thread;
	alarm(20);
	MDB_txn *txn = begin(env, 0);
	IS(mdb_txn_begin(env, NULL, 0, &refused), EDEADLK);
	IS(mdb_txn_begin(again, NULL, 0, &refused), EDEADLK);
	mdb_txn_abort(begin(other, 0));
	mdb_txn_abort(begin(again, MDB_RDONLY));
	MUST(pthread_create(&thread, NULL, write_elsewhere, env));
	usleep(10000);
	MUST(mdb_txn_commit(txn));
	MUST(pthread_join(thread, NULL));
	mdb_env_close(env);
	mdb_txn_abort(begin(again, 0));
	alarm(0);
	mdb_env_close(again);
	mdb_env_close(other);
}

/* Values of a fixed size have a byte at least, however they come; none of them is none. */
static void values_of_no_size(void) {
	MDB_env *env = open_env("no size", 0);
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, "values", MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED);
	MDB_cursor *cursor;
	MUST(mdb_cursor_open(txn, dbi, &cursor));
	IS(put(txn, dbi, "key", "", 0), MDB_BAD_VALSIZE);
	for (size_t count = 1; count < 4; count++) {
		MDB_val k = of_text("key"), values[2] = {{0, "abc"}, {count, NULL}};
		IS(mdb_cursor_put(cursor, &k, values, MDB_MULTIPLE), MDB_BAD_VALSIZE);
		IS(values[1].mv_size, 0);
	}
	MDB_val k = of_text("key"), values[2] = {{1, "abc"}, {0, NULL}};
	IS(mdb_cursor_put(cursor, &k, values, MDB_MULTIPLE), 0);
	IS(mdb_cursor_get(cursor, &k, values, MDB_FIRST), MDB_NOTFOUND);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

/* An empty value is one among several of its key. */
static void empty_values(void) {
	MDB_env *env = open_env("empty values", 0);
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, "values", MDB_CREATE | MDB_DUPSORT);
	MDB_cursor *cursor;
	MDB_val k, v;
	size_t count = 0;
	MUST(put(txn, dbi, "key", "", 0));
	MUST(put(txn, dbi, "key", "more", 0));
	IS(put(txn, dbi, "key", "", MDB_NODUPDATA), MDB_KEYEXIST);
	MUST(mdb_cursor_open(txn, dbi, &cursor));
	MUST(mdb_cursor_get(cursor, &k, &v, MDB_FIRST));
	IS(v.mv_size, 0);
	MUST(mdb_cursor_count(cursor, &count));
	IS(count, 2);
	k = of_text("key");
	v = of_text("");
	IS(mdb_cursor_get(cursor, &k, &v, MDB_GET_BOTH), 0);
	MUST(mdb_cursor_get(cursor, &k, &v, MDB_NEXT));
	IS(v.mv_size, 4);
	IS(del(txn, dbi, "key", ""), 0);
	MUST(put(txn, dbi, "key", "most", 0));
	k = of_text("key");
	v = of_text("");
	IS(mdb_cursor_get(cursor, &k, &v, MDB_GET_BOTH), MDB_BAD_VALSIZE);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

static void arguments(void) {
	MDB_txn *txn;
	MDB_val v;
	IS(mdb_env_create(NULL), EINVAL);
	IS(mdb_txn_begin(NULL, NULL, 0, &txn), EINVAL);
	IS(mdb_get(NULL, 1, &v, &v), EINVAL);
	IS(mdb_put(NULL, 1, &v, &v, 0), EINVAL);
	IS(mdb_del(NULL, 1, &v, &v), EINVAL);
	IS(mdb_drop(NULL, 1, 0), EINVAL);
	IS(mdb_cursor_del(NULL, 0), EINVAL);
	IS(mdb_cursor_put(NULL, &v, &v, 0), EINVAL);
	mdb_cursor_close(NULL);
	mdb_txn_reset(NULL);
	mdb_dbi_close(NULL, 1);
	MDB_env *env;
	MUST(mdb_env_create(&env));
	IS(mdb_txn_begin(env, NULL, 0, &txn), EINVAL);
	IS(mdb_env_sync(env, 1), EINVAL);
	IS(mdb_env_copyfd(env, 1), EINVAL);
	mdb_env_close(env);
	env = open_env("arguments", 0);
	IS(mdb_env_copyfd(env, -1), EBADF);
	int ends[2];
	if (pipe(ends)) abort();
	close(ends[0]);
	IS(mdb_env_copyfd(env, ends[1]), EPIPE);
	close(ends[1]);
	txn = begin(env, 0);
	v.mv_size = (size_t)-1;
	v.mv_data = NULL;
	MDB_val k = of_text("k");
	IS(mdb_put(txn, 1, &v, &k, 0), MDB_BAD_VALSIZE);
	IS(mdb_put(txn, 1, &k, &v, 0), MDB_BAD_VALSIZE);
	IS(mdb_put(txn, 1, &k, &v, MDB_RESERVE), MDB_BAD_VALSIZE);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

/* What is no file is refused at once: nobody waits for the other end of a pipe. */
static void no_file(void) {
	static const unsigned flags[] = {0, MDB_RDONLY, MDB_NOLOCK, MDB_RDONLY | MDB_NOLOCK};
	MUST(mkfifo(place("pipe"), 0600));
	alarm(20);
	for (int i = 0; i < 4; i++) {
		MDB_env *env;
		MUST(mdb_env_create(&env));
		IS(mdb_env_open(env, place("pipe"), MDB_NOSUBDIR | flags[i], 0600), MDB_INVALID);
		mdb_env_close(env);
	}
	alarm(0);
}

/* A child may close cursors of its parent: LMDB takes no notice. The others stand where they stood when it is aborted. */
static void closed_by_a_child(void) {
	enum { CURSORS = 8 };
	MDB_env *env = open_env("closed by a child", 0);
	MDB_txn *parent = begin(env, 0), *child;
	MDB_cursor *held[CURSORS], *own;
	MDB_dbi dbis[2] = {table(parent, "a", MDB_CREATE), table(parent, "b", MDB_CREATE)};
	MDB_val k, d;
	for (int i = 0; i < 2 * CURSORS; i++) {
		char key[8];
		snprintf(key, sizeof key, "%c", 'a' + i);
		IS(put(parent, dbis[i % 2], key, "value", 0), 0);
	}
	for (int i = 0; i < CURSORS; i++) {
		IS(mdb_cursor_open(parent, dbis[i % 2], &held[i]), 0);
		for (int step = 0; step <= i; step++) IS(mdb_cursor_get(held[i], &k, &d, MDB_NEXT), 0);
	}
	MUST(mdb_txn_begin(env, parent, 0, &child));
	for (int i = 0; i < CURSORS; i += 3) mdb_cursor_close(held[i]);
	IS(mdb_cursor_open(child, dbis[0], &own), 0);
	for (int i = 0; i < CURSORS; i++)
		if (i % 3) IS(mdb_cursor_get(held[i], &k, &d, MDB_FIRST), 0);
	IS(mdb_drop(child, dbis[0], 0), 0);
	mdb_txn_abort(child);
	for (int i = 0; i < CURSORS; i++) {
		if (i % 3 == 0) continue;
		IS(mdb_cursor_txn(held[i]) == parent, 1);
		IS(mdb_cursor_get(held[i], &k, &d, MDB_GET_CURRENT), 0);
		IS(*(char *)k.mv_data, 'a' + 2 * i + i % 2);
		mdb_cursor_close(held[i]);
	}
	mdb_txn_abort(parent);
	mdb_cursor_close(own);
	mdb_env_close(env);
}

/* What is stored points at what the library has handed out in the same transaction. The cursor stands on what was meant. */
static void handed_in_again(unsigned flags) {
	enum { KEYS = 12, VALUES = 40 };
	MDB_env *env = open_env("again", MDB_NOSYNC);
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, "t", MDB_CREATE | MDB_DUPSORT | flags);
	MDB_cursor *cursor;
	MDB_val k, d;
	char key[8], value[9], meant[9] = "";
	MUST(mdb_drop(txn, dbi, 0));
	for (int i = 0; i < KEYS * VALUES; i++) {
		snprintf(key, sizeof key, "k%02d", i % KEYS);
		snprintf(value, sizeof value, "%08d", i * 7919 % 10000);
		MUST(put(txn, dbi, key, value, 0));
	}
	MUST(mdb_cursor_open(txn, dbi, &cursor));
	for (int i = 0; i < KEYS; i++) {
		snprintf(key, sizeof key, "k%02d", i);
		k = of_text(key);
		IS(mdb_cursor_get(cursor, &k, &d, MDB_SET_KEY), 0);
		MDB_val two[2] = {{8, d.mv_data}, {1, NULL}};
		if (flags) {
			IS(mdb_cursor_get(cursor, &k, &d, MDB_GET_MULTIPLE), 0);
			two[0].mv_data = d.mv_data;
			two[1].mv_size = d.mv_size / 8;
			memcpy(meant, (char *)d.mv_data + d.mv_size - 8, 8);
		} else {
			IS(mdb_cursor_get(cursor, &k, &d, MDB_LAST_DUP), 0);
			two[0] = d;
			memcpy(meant, d.mv_data, 8);
		}
		k = of_text(i % 2 ? "k" : "l");
		IS(mdb_cursor_put(cursor, &k, two, flags ? MDB_MULTIPLE : 0), 0);
		IS(mdb_cursor_get(cursor, &k, &d, MDB_GET_CURRENT), 0);
		IS(d.mv_size == 8 && !memcmp(d.mv_data, meant, 8), 1);
	}
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

/* A child that is aborted has dropped a table, and perhaps made another one of its name: nothing of the parent's is lost. */
static void dropped_by_a_child(void) {
	MDB_env *env = open_env("dropped", MDB_NOTLS);
	for (int again = 0; again < 3; again++) {
		MDB_txn *parent = begin(env, 0), *child;
		MDB_dbi dbi = table(parent, "t", MDB_CREATE), other;
		MDB_cursor *cursor;
		MDB_stat stat;
		IS(mdb_drop(parent, dbi, 0), 0);
		IS(put(parent, dbi, "key", "of the parent", 0), 0);
		MUST(mdb_cursor_open(parent, dbi, &cursor));
		MUST(mdb_txn_begin(env, parent, 0, &child));
		IS(mdb_drop(child, dbi, 1), 0);
		IS(put(child, dbi, "key", "in nothing", 0), EINVAL);
		IS(mdb_cursor_get(cursor, &(MDB_val){0}, &(MDB_val){0}, MDB_FIRST), MDB_BAD_DBI);
		if (again) {
			other = table(child, "t", again == 1 ? MDB_CREATE : MDB_CREATE | MDB_DUPSORT);
			IS(put(child, other, "key", "of the child", 0), 0);
		}
		mdb_txn_abort(child);
		dbi = table(parent, "t", 0);
		IS(put(parent, dbi, "another", "of the parent", 0), 0);
		/* And a handle is closed too soon. */
		mdb_dbi_close(env, dbi);
		IS(mdb_txn_commit(parent), 0);
		parent = begin(env, 0);
		dbi = table(parent, "t", 0);
		IS(mdb_stat(parent, dbi, &stat), 0);
		IS(stat.ms_entries, 2);
		IS(mdb_txn_commit(parent), 0);
	}
	mdb_env_close(env);
}

int main(int argc, char **argv) {
	base = argc > 1 ? argv[1] : ".";
	setvbuf(stdout, NULL, _IOLBF, 0);
	full_by_putting("full relaxed", MDB_NOSYNC, 256 << 10);
	full_by_putting("full", 0, 128 << 10);
	failing_copies();
	limited();
	lengthening();
	emptying();
	unlocked();
	resized();
	handed_back();
	handed_back_again();
	refused_over();
	rested();
	threads();
	dropping_threads();
	waiting_for_oneself();
	empty_values();
	values_of_no_size();
	arguments();
	no_file();
	closed_by_a_child();
	dropped_by_a_child();
	handed_in_again(0);
	handed_in_again(MDB_DUPFIXED);
	return failures != 0;
}
