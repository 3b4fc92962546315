/* What programs do around an environment: fork, work in odd directories, fall out of callbacks, drop privileges, change their root, move, copy and
 * remove its files, die. */
#include "falling.h"
#include "say.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void store(MDB_env *env, const char *key, const char *data) {
	MDB_txn *txn = begin(env, 0);
	MUST(put(txn, table(txn, NULL, 0), key, data, 0));
	MUST(mdb_txn_commit(txn));
}

/* So many that no library can put off what it does rarely. */
static void store_many(MDB_env *env, const char *prefix) {
	for (int i = 0; i < 40; i++) {
		char key[32];
		snprintf(key, sizeof key, "%s%02d", prefix, i);
		store(env, key, prefix);
	}
}

static void show(MDB_env *env) {
	MDB_txn *txn = begin(env, MDB_RDONLY);
	MDB_stat stat;
	MUST(mdb_stat(txn, table(txn, NULL, 0), &stat));
	printf("%zu entries\n", stat.ms_entries);
	mdb_txn_abort(txn);
}

static void show_at(const char *name, unsigned flags) {
	MDB_env *env = open_env(name, flags);
	show(env);
	mdb_env_close(env);
}

/* Runs `work` in a process of its own, which ends without closing anything. */
static void in_child(void (*work)(void)) {
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		work();
		fflush(stdout);
		_exit(0);
	}
	int status = 1;
	waitpid(child, &status, 0);
	printf("child %d\n", status);
}

/* The directory that was opened is renamed, another is put in its place, and where the user may, the root is changed. */
static void rooted_elsewhere(void) {
	MDB_env *env = open_env("rooted", MDB_NOTLS);
	char before[4096];
	strcpy(before, place("rooted"));
	MUST(rename(before, place("moved")));
	mkdir(before, 0755);
	mkdir(place("root"), 0755);
	if (!getuid()) MUST(chroot(place("root")));
	MUST(chdir("/"));
	store_many(env, "a");
	MDB_txn *reader = begin(env, MDB_RDONLY);
	store_many(env, "b");
	int dead;
	SAY(mdb_env_sync(env, 1));
	SAY(mdb_reader_check(env, &dead));
	SAY(mdb_env_set_mapsize(env, 128 << 20));
	mdb_txn_abort(reader);
	show(env);
	mdb_env_close(env);
}

/* A server that was started by root goes on as nobody in particular. */
static void without_privileges(void) {
	MDB_env *env = open_env("privileged", MDB_NOTLS);
	store(env, "by", "root");
	if (!getuid()) MUST(setuid(65534));
	store_many(env, "a");
	MDB_txn *reader = begin(env, MDB_RDONLY);
	store_many(env, "b");
	mdb_txn_abort(reader);
	show(env);
	mdb_env_close(env);
}

static int jump_from_line(const char *line, void *context) {
	(void)line, (void)context;
	longjmp(out, 1);
}

/* Programs leave callbacks by longjmp. (LMDB survives that while it reads; for writing see beyond.c.) */
static void falling_out(void) {
	MDB_env *env = open_env("falling", MDB_NOTLS);
	MDB_dbi dbi = ordered(env);
	static const int reading[] = {GET, SEEK, SEEK_PAIR};
	for (int i = 0; i < 9; i++) {
		MDB_txn *txn = begin(env, MDB_RDONLY);
		printf("%d: jumped %d\n", i, jumps_from(txn, dbi, reading[i / 3], i % 3));
		mdb_txn_abort(txn);
	}
	MDB_txn *volatile txn = begin(env, MDB_RDONLY);
	for (volatile int i = 0; i < 3; i++)
		if (!setjmp(out)) {
			mdb_reader_list(env, jump_from_line, NULL);
			printf("no line\n");
		}
	mdb_txn_abort(txn);
	txn = begin(env, 0);
	SAY(put(txn, dbi, "k50", "one more", 0));
	SAY(mdb_txn_commit(txn));
	mdb_env_close(env);
}

static void copy_file(const char *from, const char *to) {
	char source[5000], target[5000];
	static char bytes[1 << 16];
	strcpy(source, place(from));
	strcpy(target, place(to));
	FILE *in = fopen(source, "r"), *made = fopen(target, "w");
	for (size_t n; (n = fread(bytes, 1, sizeof bytes, in));) fwrite(bytes, 1, n, made);
	fclose(in);
	fclose(made);
}

static void die_with_much(void) {
	MDB_env *env = open_env("files", 0);
	store_many(env, "dying");
}

static void die_with_another(void) {
	MDB_env *env = open_env("other", MDB_NOSUBDIR);
	store_many(env, "other");
}

/* Files are copied while they are open, removed, renamed over others, whose beginnings and ends nobody announces. */
static void files(void) {
	MDB_env *env = open_env("files", 0);
	store_many(env, "a");
	copy_file("files/data.mdb", "copied");
	show_at("copied", MDB_NOSUBDIR);
	mdb_env_close(env);
	in_child(die_with_much);
	copy_file("files/data.mdb", "copied again");
	show_at("copied again", MDB_NOSUBDIR);
	in_child(die_with_much);
	MUST(unlink(place("files/data.mdb")));
	MUST(unlink(place("files/lock.mdb")));
	show_at("files", 0);
	in_child(die_with_much);
	show_at("files", 0);
	in_child(die_with_another);
	char from[5000];
	strcpy(from, place("files/data.mdb"));
	MUST(rename(from, place("other")));
	show_at("other", MDB_NOSUBDIR);
	show_at("other", MDB_NOSUBDIR | MDB_NOLOCK);
	strcpy(from, place("other"));
	MUST(rename(from, place("another")));
	show_at("another", MDB_NOSUBDIR);
}

/* A lock file that is kept elsewhere by a link, which leads to nothing at first. */
static void linked_away(void) {
	mkdir(place("linked"), 0755);
	MUST(symlink("../lock elsewhere", place("linked/lock.mdb")));
	for (int i = 0; i < 2; i++) {
		MDB_env *env = open_env("linked", 0);
		store_many(env, i ? "b" : "a");
		show(env);
		mdb_env_close(env);
	}
	printf("made %d\n", !access(place("lock elsewhere"), F_OK));
}

/* Opens by a relative path, in a directory that has no other. */
static void here(void) {
	const char *before = base;
	base = ".";
	for (int i = 0; i < 2; i++) {
		MDB_env *env = open_env("data", 0);
		store_many(env, i ? "b" : "a");
		show(env);
		mdb_env_close(env);
	}
	base = before;
}

/* As nobody in particular, in a directory below one that only root may look into. */
static void below_a_secret(void) {
	mkdir(place("secret"), 0700);
	mkdir(place("secret/open"), 0777);
	chmod(place("secret/open"), 0777);
	MUST(chdir(place("secret/open")));
	if (!getuid()) MUST(setuid(65534));
	here();
}

/* As nobody in particular, in a directory that may be written and searched, but not read. */
static void drop_box(void) {
	mkdir(place("box"), 0333);
	chmod(place("box"), 0333);
	if (!getuid()) MUST(setuid(65534));
	MDB_env *env = open_env("box/env", MDB_NOSUBDIR);
	store_many(env, "boxed");
	show(env);
	mdb_env_close(env);
}

/* No call of this number is made for the process: whoever makes it is told that he may not. */
static void forbid(unsigned number) {
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* In a sandbox that lets a program do what it needs with LMDB's own library, and no more. */
static void in_a_sandbox(void) {
	static const unsigned unknown[] = {
		SYS_fsync,     SYS_syncfs,  SYS_prlimit64, SYS_getrandom, SYS_statx,  SYS_madvise,         SYS_mincore,
		SYS_fallocate, SYS_statfs,  SYS_fstatfs,   SYS_fchmod,    SYS_fchown, SYS_sync_file_range, SYS_readlinkat,
		SYS_getcwd,    SYS_sysinfo, SYS_membarrier, SYS_sched_getaffinity,
#ifdef SYS_open
		SYS_open,      SYS_readlink,
#endif
	};
	for (unsigned i = 0; i < sizeof unknown / sizeof *unknown; i++) forbid(unknown[i]);
	MDB_env *env = open_env("boxed in", 0);
	store_many(env, "a");
	show(env);
	mdb_env_close(env);
	show_at("boxed in", MDB_NOSYNC);
}

/* Deeper than a path can be long. */
static void deep_below(void) {
	char name[201];
	memset(name, 'd', 200);
	name[200] = 0;
	MUST(chdir(base));
	for (int i = 0; i < 25; i++) {
		MUST(mkdir(name, 0755));
		MUST(chdir(name));
	}
	here();
}

/* An environment is closed in the middle of a change: nobody waits for the change's end, nothing of it remains. */
static void closed_while_writing(void) {
	for (int i = 0; i < 3; i++) {
		MDB_env *env = open_env("closed", 0);
		store(env, "a", "1");
		MDB_txn *txn = begin(env, 0);
		MUST(put(txn, table(txn, NULL, 0), "lost", "lost", 0));
		if (i) MUST(mdb_txn_begin(env, txn, 0, &txn));
		if (i) MUST(put(txn, table(txn, NULL, 0), "lost too", "lost", 0));
		mdb_env_close(env);
		alarm(20);
		show_at("closed", 0);
		env = open_env("closed", 0);
		store(env, "a", "2");
		show(env);
		mdb_env_close(env);
		alarm(0);
	}
}

static MDB_env *shared;

static void die_reading(void) {
	MDB_env *own = open_env("dead", MDB_NOTLS);
	begin(own, MDB_RDONLY);
	begin(own, MDB_RDONLY);
}

static void die_writing(void) {
	MDB_env *own = open_env("dead", 0);
	MDB_txn *txn = begin(own, 0);
	for (int i = 0; i < 1000; i++) MUST(put(txn, table(txn, NULL, 0), "lost", "lost", 0));
}

/* Others see who has died; nobody waits for them. */
static void the_dead(void) {
	int dead = 0;
	shared = open_env("dead", MDB_NOTLS);
	store(shared, "a", "1");
	in_child(die_reading);
	SAY(mdb_reader_check(shared, &dead));
	printf("dead %d\n", dead);
	SAY(mdb_reader_check(shared, &dead));
	printf("dead %d\n", dead);
	in_child(die_writing);
	store(shared, "b", "2");
	show(shared);
	mdb_env_close(shared);
}

static pthread_barrier_t begun;

static void *end_with_a_write(void *unused) {
	(void)unused;
	MDB_txn *txn = begin(shared, 0);
	MUST(put(txn, table(txn, NULL, 0), "lost", "lost", 0));
	pthread_barrier_wait(&begun);
	usleep(20000);
	return NULL;
}

/* Who waits for a thread that has ended, or begins later, is told. Closing and opening again helps. */
static void ended_threads(void) {
	pthread_t thread;
	MDB_txn *txn;
	pthread_barrier_init(&begun, NULL, 2);
	shared = open_env("ended", 0);
	store(shared, "a", "1");
	MUST(pthread_create(&thread, NULL, end_with_a_write, NULL));
	pthread_barrier_wait(&begun);
	alarm(30);
	SAY(mdb_txn_begin(shared, NULL, 0, &txn));
	MUST(pthread_join(thread, NULL));
	SAY(mdb_txn_begin(shared, NULL, 0, &txn));
	mdb_env_close(shared);
	shared = open_env("ended", 0);
	store(shared, "b", "2");
	show(shared);
	alarm(0);
	mdb_env_close(shared);
}

static void *write_much(void *env) {
	store_many(env, "while copying");
	return NULL;
}

static void *drain(void *ends) {
	char bytes[4096];
	int out = open(place("drained"), O_CREAT | O_WRONLY | O_TRUNC, 0600);
	for (ssize_t n; (n = read(*(int *)ends, bytes, sizeof bytes)) > 0;)
		if (write(out, bytes, n) != n) abort();
	close(out);
	return NULL;
}

/* Copies through a pipe while somebody writes are databases, with all that was there before. */
static void copies(void) {
	MDB_env *env = open_env("copied from", 0);
	store_many(env, "a");
	for (unsigned flags = 0; flags <= MDB_CP_COMPACT; flags++) {
		pthread_t writer, reader;
		int ends[2];
		MUST(pipe(ends));
		pthread_create(&reader, NULL, drain, ends);
		pthread_create(&writer, NULL, write_much, env);
		SAY(mdb_env_copyfd2(env, ends[1], flags));
		close(ends[1]);
		pthread_join(writer, NULL);
		pthread_join(reader, NULL);
		close(ends[0]);
		MDB_env *copy = open_env("drained", MDB_NOSUBDIR);
		MDB_txn *txn = begin(copy, MDB_RDONLY);
		get(txn, table(txn, NULL, 0), "a39");
		mdb_txn_abort(txn);
		store(copy, "more", "more");
		mdb_env_close(copy);
	}
	mdb_env_close(env);
}

/* What a reader was handed stays as it was. */
static void pointers(void) {
	MDB_env *env = open_env("pointers", MDB_NOTLS);
	store_many(env, "same");
	MDB_txn *reader = begin(env, MDB_RDONLY);
	MDB_val k = of_text("same07"), d;
	MUST(mdb_get(reader, table(reader, NULL, 0), &k, &d));
	for (int i = 0; i < 100; i++) store(env, i % 2 ? "same07" : "same08", i % 3 ? "other" : "longer than before");
	print_value("held", &d);
	printf("\n");
	mdb_txn_abort(reader);
	/* And in turns by processes that map the file for writing and that do not. */
	mdb_env_close(env);
	for (int i = 0; i < 6; i++) {
		env = open_env("pointers", i % 2 ? MDB_WRITEMAP | MDB_NOSYNC : MDB_NOMETASYNC);
		store_many(env, i % 2 ? "mapped" : "written");
		show(env);
		mdb_env_close(env);
	}
}

static MDB_txn *resting;

static void read_inherited(void) {
	MUST(mdb_txn_renew(resting));
	get(resting, 1, "a");
	mdb_txn_reset(resting);
	MUST(mdb_txn_renew(resting));
	get(resting, 1, "b");
	mdb_txn_abort(resting);
	MDB_txn *txn = begin(shared, MDB_RDONLY);
	get(txn, 1, "a");
	mdb_txn_abort(txn);
}

static void read_as_child_and_grandchild(void) {
	in_child(read_inherited);
	read_inherited();
}

/* What was opened before fork, to read and without locks, is used in children: so do programs that load data in several
 * processes. (For what has locks see beyond.c.) */
static void inheriting(void) {
	shared = open_env("inherited", 0);
	store(shared, "a", "1");
	mdb_env_close(shared);
	for (unsigned flags = MDB_RDONLY | MDB_NOLOCK, i = 0; i < 2; flags |= MDB_NOTLS, i++) {
		shared = open_env("inherited", flags);
		resting = begin(shared, MDB_RDONLY);
		get(resting, table(resting, NULL, 0), "a");
		mdb_txn_reset(resting);
		in_child(read_as_child_and_grandchild);
		show_at("inherited", MDB_RDONLY);
		in_child(read_inherited);
		read_inherited();
		show(shared);
		mdb_env_close(shared);
	}
}

/* As Samba's children do with what they have inherited and will not use: no commit is to look finished to their parent. */
static void close_inherited(void) {
	int fd;
	SAY(mdb_env_get_fd(shared, &fd));
	SAY(close(fd));
	mdb_env_close(shared);
}

static void disowning(void) {
	shared = open_env("disowned", MDB_NOTLS);
	for (int writes = 0; writes < 2; writes++) {
		MDB_txn *txn = begin(shared, writes ? 0 : MDB_RDONLY);
		if (writes) MUST(put(txn, table(txn, NULL, 0), "a", "1", 0));
		in_child(close_inherited);
		if (writes) MUST(put(txn, table(txn, NULL, 0), "b", "2", 0));
		SAY(mdb_txn_commit(txn));
	}
	show(shared);
	mdb_env_close(shared);
}

/* Leaves a child that lives until the other end of `stays` is closed, and is killed in a transaction. */
static void die_as_a_parent(const char *how, int stays[2]) {
	MDB_env *env = open_env("orphaned", MDB_NOTLS);
	store_many(env, "before");
	if (!fork()) {
		char byte;
		close(stays[1]);
		_exit(read(stays[0], &byte, 1) != 0);
	}
	MDB_txn *txn = begin(env, strcmp(how, "reading") ? 0 : MDB_RDONLY);
	if (!strcmp(how, "writing")) MUST(put(txn, table(txn, NULL, 0), "lost", "with its writer", 0));
	kill(getpid(), SIGKILL);
}

/* What a process that was killed has locked is free, although a child of its lives on. */
static void orphaned(void) {
	static const char *const ways[] = {"reading", "writing"};
	for (int i = 0; i < 2; i++) {
		int stays[2], status;
		MUST(pipe(stays));
		fflush(stdout);
		pid_t child = fork();
		if (!child) die_as_a_parent(ways[i], stays);
		waitpid(child, &status, 0);
		printf("%s: %d\n", ways[i], status);
		MDB_env *env = open_env("orphaned", MDB_NOTLS);
		int dead;
		SAY(mdb_reader_check(env, &dead));
		alarm(60);
		store_many(env, ways[i]);
		alarm(0);
		show(env);
		mdb_env_close(env);
		close(stays[0]);
		close(stays[1]);
	}
}

static MDB_txn *asking;
static MDB_dbi asked;

/* By the order of another table, after looking for the key there, with a cursor, and in another transaction. */
static int compare_by_asking(const MDB_val *a, const MDB_val *b) {
	MDB_txn *txn;
	MDB_cursor *cursor;
	MDB_val k = *a, d;
	mdb_get(asking, asked, &k, &d);
	MUST(mdb_cursor_open(asking, asked, &cursor));
	k = *b;
	mdb_cursor_get(cursor, &k, &d, MDB_SET_RANGE);
	mdb_cursor_close(cursor);
	MUST(mdb_txn_begin(shared, NULL, MDB_RDONLY, &txn));
	mdb_txn_abort(txn);
	return mdb_cmp(asking, asked, a, b);
}

/* A program's function for the order of a table asks the library. */
static void asking_back(void) {
	shared = open_env("asking", MDB_NOTLS);
	MDB_txn *txn = asking = begin(shared, 0), *child;
	asked = table(txn, "asked", MDB_CREATE | MDB_REVERSEKEY);
	MDB_dbi dbi = table(txn, "asking", MDB_CREATE | MDB_DUPSORT);
	MUST(mdb_set_compare(txn, dbi, compare_by_asking));
	MUST(mdb_set_dupsort(txn, dbi, compare_by_asking));
	char key[12];
	for (int i = 0; i < 200; i++) {
		snprintf(key, sizeof key, "%d", i * 7919 % 200);
		MUST(put(txn, asked, key, "there", 0));
		MUST(put(txn, dbi, key, "one", 0));
		MUST(put(txn, dbi, key, "two", 0));
		if (i % 3 == 0) MUST(del(txn, dbi, key, i % 2 ? NULL : "one"));
	}
	MUST(mdb_txn_begin(shared, txn, 0, &child));
	asking = child;
	SAY(put(child, dbi, "child", "one", 0));
	MUST(mdb_txn_commit(child));
	asking = txn;
	MUST(mdb_txn_commit(txn));
	txn = asking = begin(shared, MDB_RDONLY);
	get(txn, dbi, "child");
	walk(txn, dbi);
	mdb_txn_abort(txn);
	mdb_env_close(shared);
}

/* Whether another process would have to wait for this one's lock of the data file. It goes when this one closes any descriptor of that. */
static void say_locked(const char *what, const char *name) {
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
		int fd = open(place(name), O_RDWR);
		_exit(fcntl(fd, F_GETLK, &lock) || lock.l_type == F_UNLCK);
	}
	int status = 1;
	waitpid(child, &status, 0);
	printf("%s: %d\n", what, status);
}

/* Postfix locks the data file by the descriptor that it is told. */
static void own_locks(void) {
	static const unsigned ways[] = {MDB_NOLOCK, 0, MDB_NOSYNC, MDB_RDONLY};
	static char large[8 << 20];
	for (int i = 0; i < 4; i++) {
		MDB_env *env = open_env("locked", MDB_NOSUBDIR | ways[i]);
		struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
		int fd, dead;
		MUST(mdb_env_get_fd(env, &fd));
		if (ways[i] == MDB_RDONLY) lock.l_type = F_RDLCK;
		MUST(fcntl(fd, F_SETLK, &lock));
		if (ways[i] != MDB_RDONLY) {
			store_many(env, "small");
			say_locked("small", "locked");
			MDB_txn *txn = begin(env, 0);
			MDB_val k = of_text("large"), d = of_bytes(large, sizeof large);
			MUST(mdb_put(txn, table(txn, NULL, 0), &k, &d, 0));
			MUST(mdb_txn_commit(txn));
			MUST(mdb_env_sync(env, 1));
			say_locked("large", "locked");
			txn = begin(env, 0);
			MUST(mdb_drop(txn, table(txn, NULL, 0), 0));
			MUST(mdb_txn_commit(txn));
			store_many(env, "small");
			say_locked("emptied", "locked");
		}
		show(env);
		for (unsigned flags = 0; flags <= MDB_CP_COMPACT; flags++) {
			MUST(mdb_env_copy2(env, place("locked copy"), flags));
			MUST(unlink(place("locked copy")));
		}
		MUST(mdb_env_set_mapsize(env, 128 << 20));
		MUST(mdb_reader_check(env, &dead));
		say_locked("copied", "locked");
		mdb_env_close(env);
		say_locked("closed", "locked");
	}
}

int main(int argc, char **argv) {
	base = argc > 1 ? argv[1] : ".";
	setvbuf(stdout, NULL, _IOLBF, 0);
	chmod(base, 0755);
	in_child(in_a_sandbox);
	show_at("boxed in", 0);
	in_child(rooted_elsewhere);
	show_at("moved", 0);
	in_child(without_privileges);
	show_at("privileged", 0);
	in_child(below_a_secret);
	in_child(drop_box);
	in_child(deep_below);
	linked_away();
	in_child(closed_while_writing);
	own_locks();
	asking_back();
	inheriting();
	disowning();
	orphaned();
	falling_out();
	files();
	the_dead();
	in_child(ended_threads);
	copies();
	pointers();
	return 0;
}
