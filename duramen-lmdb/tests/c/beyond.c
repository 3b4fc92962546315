/* What programs do to themselves that LMDB does not bear: jumping out of a change, using and closing in a forked child
 * what the parent uses, cancelling threads, printing where no stream is, giving values another place among those of their key.
 * And what `exec` hands on. Prints nothing but failures. */
#include "falling.h"
#include "is.h"
#include <dirent.h>
#include <pthread.h>
#include <sys/wait.h>

static void jumping_out_of_changes(void) {
	MDB_env *env = open_env("jumping", 0);
	MDB_dbi dbi = ordered(env);
	for (int kind = PUT; kind < KINDS; kind++)
		for (int comparisons = 0; comparisons < 5; comparisons++) {
			MDB_txn *txn = begin(env, 0);
			IS(put(txn, dbi, "k", "in the same transaction", 0), 0);
			IS(jumps_from(txn, dbi, kind, comparisons), 1);
			mdb_txn_abort(txn);
		}
	MDB_txn *txn = begin(env, 0);
	MDB_stat stat;
	IS(mdb_stat(txn, dbi, &stat), 0);
	IS(stat.ms_entries, 500);
	IS(put(txn, dbi, "k50", "one more", 0), 0);
	IS(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
}

static void change_and_commit(MDB_env *env) {
	static int i;
	MDB_txn *txn = begin(env, 0);
	i++;
	MUST(put(txn, table(txn, NULL, 0), i % 2 ? "key" : "other", i % 3 ? "of the child" : "of the child, longer", 0));
	MUST(mdb_txn_commit(txn));
}

static void change_much(const char *name) {
	MDB_env *own = open_env(name, 0);
	for (int i = 0; i < 100; i++) change_and_commit(own);
	mdb_env_close(own);
}

static void work_and_wait(void (*work)(const char *), const char *name) {
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		work(name);
		exit(failures != 0);
	}
	int status = 1;
	waitpid(child, &status, 0);
	IS(status, 0);
}

static MDB_env *env;
static MDB_txn *reader, *writer;

/* All that a child can do with what it has inherited, and must not. */
static void use_what_is_inherited(const char *how) {
	MDB_txn *txn;
	MDB_val k = of_text("key"), d = of_text("of the child");
	if (strstr(how, "begin")) {
		IS(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
		IS(mdb_get(txn, 1, &k, &d), 0);
		mdb_txn_abort(txn);
		if (writer) IS(mdb_put(writer, 1, &k, &d, 0) != 0 || mdb_txn_commit(writer) != 0, 1);
	}
	if (strstr(how, "abort")) {
		mdb_txn_abort(reader);
		if (writer) mdb_txn_abort(writer);
	}
	if (strstr(how, "close")) mdb_env_close(env);
}

static void forked_children(void) {
	static const char *const ways[] = {"exit", "abort", "close", "abort, close", "begin", "begin, close"};
	for (size_t i = 0; i < 2 * sizeof ways / sizeof *ways; i++) {
		const char *way = ways[i / 2];
		MDB_val k = of_text("key"), held;
		env = open_env("forked", MDB_NOTLS);
		MDB_txn *txn = begin(env, 0);
		IS(put(txn, table(txn, NULL, 0), "key", "of the parent", 0), 0);
		IS(mdb_txn_commit(txn), 0);
		reader = begin(env, MDB_RDONLY);
		IS(mdb_get(reader, 1, &k, &held), 0);
		writer = i % 2 ? begin(env, 0) : NULL;
		if (writer) IS(put(writer, 1, "key", "of the parent again", 0), 0);
		work_and_wait(use_what_is_inherited, way);
		if (writer) {
			IS(put(writer, 1, "another key", "of the parent", 0), 0);
			IS(mdb_txn_commit(writer), 0);
		}
		/* The reader is still known to everybody: what it sees is not written over. */
		work_and_wait(change_much, "forked");
		IS(held.mv_size == 13 && !memcmp(held.mv_data, "of the parent", 13), 1);
		mdb_txn_abort(reader);
		txn = begin(env, MDB_RDONLY);
		IS(mdb_get(txn, 1, &k, &held), 0);
		IS(held.mv_size > 12 && !memcmp(held.mv_data, "of the child", 12), 1);
		mdb_txn_abort(txn);
		mdb_env_close(env);
	}
}

/* A child closes the descriptor of the data file, and has another file by that number when it closes the environment. With `use` it has
 * gone on with what it has inherited before, and does so afterwards. */
static void close_a_number(const char *use) {
	int fd, another;
	if (*use) change_and_commit(env);
	IS(mdb_env_get_fd(env, &fd), 0);
	IS(close(fd), 0);
	another = open("/dev/null", O_RDWR);
	IS(another, fd);
	if (*use) change_and_commit(env);
	mdb_env_close(env);
	IS(fcntl(another, F_GETFD) >= 0, 1);
	change_much("closed by number");
}

static void closed_by_number(void) {
	env = open_env("closed by number", 0);
	change_and_commit(env);
	work_and_wait(close_a_number, "");
	work_and_wait(close_a_number, "use");
	change_and_commit(env);
	mdb_env_close(env);
}

/* A program that is started by another has none of its descriptors. */
static void descriptors(void) {
	env = open_env("descriptors", 0);
	change_much("descriptors");
	MDB_txn *txn = begin(env, MDB_RDONLY);
	DIR *all = opendir("/proc/self/fd");
	int of_ours = 0;
	for (struct dirent *one; (one = readdir(all));) {
		char link[64], target[4096];
		snprintf(link, sizeof link, "/proc/self/fd/%.20s", one->d_name);
		ssize_t length = readlink(link, target, sizeof target - 1);
		target[length > 0 ? length : 0] = 0;
		if (!strstr(target, "descriptors")) continue;
		of_ours++;
		IS(fcntl(atoi(one->d_name), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	}
	IS(of_ours >= 2, 1);
	closedir(all);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

/* A writer waits for this process's, although that has closed other descriptors of the same files meanwhile. */
static void store_one(const char *name) {
	MDB_env *own = open_env(name, 0);
	MDB_txn *txn = begin(own, 0);
	IS(put(txn, table(txn, NULL, 0), "b", "of the child", 0), 0);
	IS(mdb_txn_commit(txn), 0);
	mdb_env_close(own);
}

static void exclusion(void) {
	env = open_env("exclusion", 0);
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, NULL, 0);
	for (int i = 0; i < 2; i++) close(open(place(i ? "exclusion/data.mdb" : "exclusion/lock.mdb"), O_RDWR));
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		store_one("exclusion");
		_exit(failures != 0);
	}
	/* Time enough to go wrong. */
	usleep(50000);
	IS(put(txn, dbi, "a", "of the parent", 0), 0);
	IS(mdb_txn_commit(txn), 0);
	int status = 1;
	waitpid(child, &status, 0);
	IS(status, 0);
	txn = begin(env, MDB_RDONLY);
	MDB_stat stat;
	IS(mdb_stat(txn, dbi, &stat), 0);
	IS(stat.ms_entries, 2);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

static void read_and_write(const char *name) {
	MDB_val k = of_text("key"), d;
	if (reader) {
		IS(mdb_txn_renew(reader), 0);
		IS(mdb_get(reader, 1, &k, &d), 0);
		mdb_txn_abort(reader);
	}
	for (int i = 0; i < 50; i++) {
		MDB_txn *txn = begin(env, 0);
		IS(put(txn, 1, i % 2 ? "key" : "other", name, 0), 0);
		IS(mdb_txn_commit(txn), 0);
	}
	MDB_txn *txn = begin(env, MDB_RDONLY);
	IS(mdb_get(txn, 1, &k, &d), 0);
	IS(d.mv_size == strlen(name) && !memcmp(d.mv_data, name, d.mv_size), 1);
	mdb_txn_abort(txn);
	int dead = 1;
	IS(mdb_reader_check(env, &dead), 0);
	IS(dead, 0);
	IS(mdb_env_sync(env, 1), 0);
}

static void go_on_in_a_grandchild(const char *name) {
	read_and_write(name);
	reader = NULL;
	work_and_wait(read_and_write, "of the grandchild");
	read_and_write(name);
	mdb_env_close(env);
}

/* A child goes on with its parent's environment as if it had opened it, and harms nothing of the parent's. */
static void going_on(void) {
	for (unsigned i = 0; i < 4; i++) {
		env = open_env("going on", i % 2 ? MDB_NOTLS : 0);
		change_much("going on");
		reader = begin(env, MDB_RDONLY);
		table(reader, NULL, 0);
		mdb_txn_reset(reader);
		work_and_wait(go_on_in_a_grandchild, i / 2 ? "of the child" : "of the child, which has a longer one");
		read_and_write("of the parent");
		reader = NULL;
		mdb_env_close(env);
	}
}

enum { TABLES = 1500, THREADS = 3, CHILDREN = 60, MORE_CHILDREN = 10 };

static volatile int is_over, in_turn;
static pthread_mutex_t of_program = PTHREAD_MUTEX_INITIALIZER;

/* The program's own, which it takes care of at forks, too. */
static void lock_own(void) { pthread_mutex_lock(&of_program); }

static void unlock_own(void) { pthread_mutex_unlock(&of_program); }

/* Looks for tables among many, makes more, and leaves cursors open: most of the time it has some lock. */
static void *look_for_tables(void *unused) {
	(void)unused;
	for (unsigned i = 0; !is_over; i++) {
		char name[20];
		MDB_cursor *cursor;
		MDB_txn *txn = begin(env, i % 4 ? MDB_RDONLY : 0);
		snprintf(name, sizeof name, "t%u", TABLES - 1 - i % 10);
		int locks = in_turn;
		if (locks) lock_own();
		MDB_dbi dbi = table(txn, name, 0);
		if (locks) unlock_own();
		if (i % 4) {
			mdb_txn_abort(txn);
			continue;
		}
		MUST(put(txn, dbi, "a", name, 0));
		for (int j = 0; j < 20; j++) MUST(mdb_cursor_open(txn, dbi, &cursor));
		MUST(mdb_txn_commit(txn));
	}
	return NULL;
}

static void look_and_close(int i) {
	alarm(20);
	if (i % 2) {
		MDB_txn *txn = begin(env, i % 4 == 1 ? MDB_RDONLY : 0);
		table(txn, "t7", 0);
		mdb_txn_abort(txn);
	}
	mdb_env_close(env);
}

/* Whatever other threads are in the middle of when a child is made: the child need not wait for them. */
static void forked_beside_threads(void) {
	pthread_t threads[THREADS];
	alarm(300);
	mkdir(place("beside"), 0777);
	MUST(mdb_env_create(&env));
	MUST(mdb_env_set_maxdbs(env, TABLES));
	MUST(mdb_env_set_mapsize(env, 64 << 20));
	MUST(mdb_env_open(env, place("beside"), MDB_NOSYNC | MDB_NOTLS, 0644));
	MDB_txn *txn = begin(env, 0);
	for (int i = 0; i < TABLES; i++) {
		char name[20];
		snprintf(name, sizeof name, "t%d", i);
		table(txn, name, MDB_CREATE);
	}
	MUST(mdb_txn_commit(txn));
	for (int i = 0; i < THREADS; i++) MUST(pthread_create(&threads[i], NULL, look_for_tables, NULL));
	for (int i = 0; i < CHILDREN + MORE_CHILDREN; i++) {
		/* Who forks then waits for a thread that would have to wait for the fork. */
		in_turn = i >= CHILDREN;
		fflush(stdout);
		pid_t child = fork();
		if (!child) {
			if (!in_turn) look_and_close(i);
			_exit(failures != 0);
		}
		int status = 1;
		waitpid(child, &status, 0);
		IS(status, 0);
		if (status) break;
	}
	is_over = 1;
	for (int i = 0; i < THREADS; i++) MUST(pthread_join(threads[i], NULL));
	alarm(0);
	mdb_env_close(env);
}

/* What is at the path by then may be another's. */
static void read_nothing(const char *name) {
	MDB_txn *txn;
	(void)name;
	IS(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), MDB_BAD_RSLOT);
	IS(mdb_txn_begin(env, NULL, 0, &txn), MDB_BAD_RSLOT);
	IS(access(place("removed/data.mdb"), F_OK), -1);
	mdb_env_close(env);
}

static void removed(void) {
	env = open_env("removed", 0);
	IS(unlink(place("removed/data.mdb")), 0);
	work_and_wait(read_nothing, "");
	mdb_env_close(env);
}

static void *commit_for_ever(void *env) {
	while (env) change_and_commit(env);
	return NULL;
}

/* Ends a thread that commits, after a while that is another one each time. */
static void cancel_after(useconds_t microseconds) {
	pthread_t thread;
	void *ended;
	MUST(pthread_create(&thread, NULL, commit_for_ever, env));
	usleep(microseconds);
	IS(pthread_cancel(thread), 0);
	IS(pthread_join(thread, &ended), 0);
	IS(ended == PTHREAD_CANCELED, 1);
}

/* Threads that write beside each other end one by one, and others take their places. */
static void cancelled_in_turn(void) {
	pthread_t threads[4];
	for (int i = 0; i < 300; i++) {
		pthread_t *thread = &threads[i % 4];
		if (i >= 4) {
			MUST(pthread_cancel(*thread));
			MUST(pthread_join(*thread, NULL));
		}
		MUST(pthread_create(thread, NULL, commit_for_ever, env));
	}
	for (int i = 0; i < 4; i++) {
		MUST(pthread_cancel(threads[i]));
		MUST(pthread_join(threads[i], NULL));
	}
}

/* Nobody waits for a thread that was cancelled in a commit, or while it waited for its turn. */
static void cancelled(void) {
	env = open_env("cancelled", 0);
	alarm(60);
	for (int i = 0; i < 50; i++) {
		cancel_after(i * 100);
		change_and_commit(env);
	}
	IS(mdb_env_sync(env, 1), 0);
	cancelled_in_turn();
	MDB_txn *held = begin(env, 0);
	pthread_t thread;
	MUST(pthread_create(&thread, NULL, commit_for_ever, env));
	usleep(20000);
	IS(pthread_cancel(thread), 0);
	mdb_txn_abort(held);
	MUST(pthread_join(thread, NULL));
	work_and_wait(change_much, "cancelled");
	change_and_commit(env);
	alarm(0);
	mdb_env_close(env);
}

/* As daemons do that have closed their streams, and print all the same. */
static void print_without_streams(const char *name) {
	for (int fd = 0; fd < 3; fd++) close(fd);
	env = open_env(name, 0);
	for (int i = 0; i < 100; i++) change_and_commit(env);
	for (int fd = 0; fd < 3; fd++) failures += write(fd, "printed over it", 15) != -1;
	change_and_commit(env);
	mdb_env_close(env);
}

static void without_streams(void) {
	work_and_wait(print_without_streams, "streams");
	work_and_wait(change_much, "streams");
}

static void *begins_to_read(void *txn) {
	*(MDB_txn **)txn = begin(env, MDB_RDONLY);
	MDB_val k = of_text("key"), d;
	IS(mdb_get(*(MDB_txn **)txn, 2, &k, &d), 0);
	return NULL;
}

/* The environment is closed before transactions that read, also of threads that have ended. What they kept is free. */
static MDB_txn *of_threads[20];
static MDB_cursor *walking;

static void close_too_soon(const char *unused) {
	MDB_val k, d;
	(void)unused;
	mdb_env_close(env);
	IS(mdb_cursor_get(walking, &k, &d, MDB_NEXT) != 0, 1);
	IS(mdb_get(reader, 2, &k, &d), EINVAL);
	IS(put(reader, 2, "key", "another", 0), EINVAL);
	mdb_txn_reset(reader);
	IS(mdb_txn_renew(reader), EINVAL);
	IS(mdb_txn_env(reader) == NULL, 1);
	for (int i = 0; i < 20; i += 2) mdb_txn_abort(of_threads[i]);
	for (int i = 1; i < 20; i += 2) IS(mdb_txn_commit(of_threads[i]), 0);
	mdb_txn_abort(reader);
	mdb_cursor_close(walking);
}

/* In a forked child first, and then in the process that began to read. */
static void closed_too_soon(unsigned flags) {
	MDB_val k, d;
	pthread_t threads[20];
	env = open_env("too soon", flags);
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, "t", MDB_CREATE);
	IS(dbi, 2);
	MUST(put(txn, dbi, "key", "value", 0));
	MUST(mdb_txn_commit(txn));
	for (int i = 0; i < 20; i++) MUST(pthread_create(&threads[i], NULL, begins_to_read, &of_threads[i]));
	for (int i = 0; i < 20; i++) MUST(pthread_join(threads[i], NULL));
	reader = begin(env, MDB_RDONLY);
	MUST(mdb_cursor_open(reader, dbi, &walking));
	IS(mdb_cursor_get(walking, &k, &d, MDB_FIRST), 0);
	work_and_wait(close_too_soon, "");
	close_too_soon("");
}

/* What a movement finds. */
static void finds(MDB_cursor *cursor, MDB_cursor_op op, const char *value) {
	MDB_val k, d;
	int rc = mdb_cursor_get(cursor, &k, &d, op);
	IS(rc, 0);
	if (!rc) IS(d.mv_size == strlen(value) && !memcmp(d.mv_data, value, d.mv_size), 1);
}

/* A value that sorts elsewhere goes where it belongs, with all cursors that stand on the one before. */
static void moved_values(int values) {
	MDB_env *env = open_env("moved", 0);
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, "t", MDB_CREATE | MDB_DUPSORT);
	MDB_cursor *own, *other;
	MDB_val k = of_text("k"), d = of_text("value00010");
	char text[20];
	MUST(mdb_drop(txn, dbi, 0));
	for (int i = 0; i < values; i++) {
		snprintf(text, sizeof text, "value%05d", 10 * i);
		MUST(put(txn, dbi, "k", text, 0));
	}
	MUST(mdb_cursor_open(txn, dbi, &own));
	MUST(mdb_cursor_open(txn, dbi, &other));
	IS(mdb_cursor_get(own, &k, &d, MDB_GET_BOTH), 0);
	IS(mdb_cursor_get(other, &k, &d, MDB_GET_BOTH), 0);
	d = of_text("a value");
	IS(mdb_cursor_put(own, &k, &d, MDB_CURRENT), 0);
	finds(other, MDB_GET_CURRENT, "a value");
	finds(own, MDB_GET_CURRENT, "a value");
	finds(other, MDB_NEXT, "value00000");
	finds(own, MDB_NEXT, "value00000");
	finds(own, MDB_NEXT, "value00020");
	/* Part of a value in the transaction's own memory, which moves when it is stored. */
	IS(mdb_cursor_get(other, &k, &d, MDB_NEXT), 0);
	d = (MDB_val){d.mv_size - 1, (char *)d.mv_data + 1};
	IS(mdb_cursor_put(own, &k, &d, 0), 0);
	finds(own, MDB_GET_CURRENT, "alue00020");
	finds(own, MDB_NEXT, "value00000");
	mdb_cursor_close(own);
	mdb_cursor_close(other);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

/* Who gives values of a key others for which there is no room is told so. */
static void full_by_replacing(void) {
	MDB_env *env;
	mkdir(place("full"), 0777);
	MUST(mdb_env_create(&env));
	MUST(mdb_env_set_mapsize(env, 256 << 10));
	MUST(mdb_env_set_maxdbs(env, 8));
	MUST(mdb_env_open(env, place("full"), 0, 0644));
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, "t", MDB_CREATE | MDB_DUPSORT);
	MDB_cursor *cursor;
	MDB_val k = of_text("k"), d;
	char text[401];
	for (int i = 0; i < 2000; i++) {
		snprintf(text, sizeof text, "value%05d", i);
		MUST(put(txn, dbi, "k", text, 0));
	}
	MUST(mdb_cursor_open(txn, dbi, &cursor));
	int rc = 0;
	for (int i = 0; i < 2000 && !rc; i++) {
		IS(mdb_cursor_get(cursor, &k, &d, MDB_LAST), 0);
		snprintf(text, sizeof text, "%0400d", i);
		d = of_text(text);
		rc = mdb_cursor_put(cursor, &k, &d, MDB_CURRENT);
	}
	IS(rc, MDB_MAP_FULL);
	IS(mdb_txn_commit(txn), MDB_BAD_TXN);
	mdb_env_close(env);
}

int main(int argc, char **argv) {
	base = argc > 1 ? argv[1] : ".";
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* Before the library's, so that they are called when it has made its own preparations. */
	pthread_atfork(lock_own, unlock_own, unlock_own);
	jumping_out_of_changes();
	forked_children();
	going_on();
	forked_beside_threads();
	removed();
	cancelled();
	without_streams();
	closed_by_number();
	descriptors();
	exclusion();
	for (int values = 3; values < 5000; values *= 30) moved_values(values);
	full_by_replacing();
	closed_too_soon(0);
	closed_too_soon(MDB_NOTLS);
	closed_too_soon(MDB_NOLOCK);
	return failures != 0;
}
