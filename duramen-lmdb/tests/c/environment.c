/* Environments: opening, flags, limits, files, errors. */
#include "say.h"
#include <pthread.h>
#include <sys/wait.h>

static void texts(void) {
	for (int code = -30800; code <= -30780; code++) {
		if (code != -30800) printf("%d %s\n", code, mdb_strerror(code));
	}
	printf("%s / %s / %s\n", mdb_strerror(0), mdb_strerror(2), mdb_strerror(22));
	int a = 0, b = 0, c = 0;
	mdb_version(&a, &b, &c);
	printf("%d.%d.%d %d\n", a, b, c, mdb_version(NULL, NULL, NULL) != NULL);
}

static void before_opening(void) {
	MDB_env *env;
	unsigned flags = 7;
	const char *where = "?";
	int fd = 7;
	MUST(mdb_env_create(&env));
	SAY(mdb_env_get_flags(env, &flags));
	printf("%x\n", flags);
	SAY(mdb_env_get_path(env, &where));
	printf("%d\n", where == NULL);
	SAY(mdb_env_get_fd(env, &fd));
	printf("%d\n", fd);
	SAY(mdb_env_get_maxreaders(env, &flags));
	printf("%u %d\n", flags, mdb_env_get_maxkeysize(env));
	SAY(mdb_env_set_maxreaders(env, 0));
	SAY(mdb_env_set_maxreaders(env, 100000));
	SAY(mdb_env_get_maxreaders(env, &flags));
	printf("%u\n", flags);
	SAY(mdb_env_set_flags(env, MDB_NOSYNC | MDB_NOMETASYNC, 1));
	SAY(mdb_env_set_flags(env, MDB_NOTLS, 1));
	SAY(mdb_env_get_flags(env, &flags));
	printf("%x\n", flags);
	SAY(mdb_env_set_userctx(env, &flags));
	printf("%d\n", mdb_env_get_userctx(env) == (void *)&flags);
	SAY(mdb_env_set_assert(env, NULL));
	mdb_env_close(env);
	mdb_env_close(NULL);
}

static void refusals(void) {
	MDB_env *env;
	char other[4200];
	MUST(mdb_env_create(&env));
	SAY(mdb_env_open(env, place("nowhere"), 0, 0644));
	mdb_env_close(env);
	MUST(mdb_env_create(&env));
	SAY(mdb_env_open(env, place("nowhere/file"), MDB_NOSUBDIR, 0644));
	mdb_env_close(env);
	MUST(mdb_env_create(&env));
	mkdir(place("folder"), 0755);
	SAY(mdb_env_open(env, place("folder"), MDB_NOSUBDIR, 0644));
	mdb_env_close(env);
	MUST(mdb_env_create(&env));
	SAY(mdb_env_open(env, place("rd"), MDB_NOSUBDIR | MDB_RDONLY, 0644));
	mdb_env_close(env);
	int fd = open(place("text"), O_CREAT | O_WRONLY, 0644);
	char junk[9000];
	memset(junk, 'x', sizeof junk);
	if (write(fd, junk, sizeof junk) < 0) perror("write");
	close(fd);
	MUST(mdb_env_create(&env));
	SAY(mdb_env_open(env, place("text"), MDB_NOSUBDIR, 0644));
	mdb_env_close(env);
	snprintf(other, sizeof other, "%s/under", place("text"));
	MUST(mdb_env_create(&env));
	SAY(mdb_env_open(env, other, 0, 0644));
	mdb_env_close(env);
	/* Of no version, and of 1.0. */
	static const unsigned unknown[] = {0x8, 0x2000, 0x2000000, 0x4000000};
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
		MUST(mdb_env_create(&env));
		SAY(mdb_env_open(env, base, unknown[i], 0644));
		mdb_env_close(env);
	}
}

static void show_files(const char *name) {
	struct stat st;
	static const char *const names[] = {"", "/data.mdb", "/lock.mdb", "-lock"};
	for (int i = 0; i < 4; i++) {
		char file[5000];
		snprintf(file, sizeof file, "%s%s", place(name), names[i]);
		int there = !stat(file, &st);
		printf("%s%s: %d", name, names[i], there);
		if (there && S_ISREG(st.st_mode)) printf(" mode %o small %d", st.st_mode & 0777, st.st_size < 100000);
		printf("\n");
	}
}

static void files(void) {
	umask(022);
	MDB_env *env = open_env("dir", 0);
	show_files("dir");
	unsigned flags;
	const char *where;
	int fd;
	struct stat by_fd, by_name;
	SAY(mdb_env_get_flags(env, &flags));
	printf("%x\n", flags);
	SAY(mdb_env_get_path(env, &where));
	printf("%d\n", !strcmp(where, place("dir")));
	SAY(mdb_env_get_fd(env, &fd));
	fstat(fd, &by_fd);
	stat(place("dir/data.mdb"), &by_name);
	printf("same file %d\n", by_fd.st_ino == by_name.st_ino && by_fd.st_dev == by_name.st_dev);
	SAY(mdb_env_set_maxdbs(env, 3));
	SAY(mdb_env_set_maxreaders(env, 3));
	SAY(mdb_env_open(env, place("dir"), 0, 0644));
	mdb_env_close(env);
	env = open_env("file", MDB_NOSUBDIR);
	show_files("file");
	mdb_env_close(env);
	env = open_env("alone", MDB_NOSUBDIR | MDB_NOLOCK);
	show_files("alone");
	mdb_env_close(env);
}

static void all_flags(void) {
	static const unsigned sets[] = {MDB_FIXEDMAP, MDB_NOSYNC, MDB_NOMETASYNC, MDB_WRITEMAP, MDB_WRITEMAP | MDB_MAPASYNC,
		MDB_NOTLS, MDB_NOLOCK, MDB_NORDAHEAD, MDB_NOMEMINIT, MDB_NOSYNC | MDB_NOTLS | MDB_WRITEMAP | MDB_NOMEMINIT};
	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
		MDB_env *env = open_env("flags", sets[i]);
		unsigned flags = 0;
		SAY(mdb_env_get_flags(env, &flags));
		printf("%x\n", flags);
		MDB_txn *txn = begin(env, 0);
		SAY(put(txn, table(txn, NULL, 0), "key", "value", 0));
		SAY(mdb_txn_commit(txn));
		SAY(mdb_env_sync(env, 0));
		SAY(mdb_env_sync(env, 1));
		SAY(mdb_env_set_flags(env, MDB_NOSYNC, 1));
		SAY(mdb_env_set_flags(env, MDB_NOSYNC, 0));
		SAY(mdb_env_set_flags(env, MDB_RDONLY, 1));
		mdb_env_close(env);
	}
	MDB_env *env = open_env("flags", MDB_RDONLY | MDB_WRITEMAP);
	unsigned flags = 0;
	mdb_env_get_flags(env, &flags);
	printf("%x\n", flags);
	MDB_txn *txn = NULL;
	SAY(mdb_txn_begin(env, NULL, 0, &txn));
	SAY(mdb_env_sync(env, 1));
	txn = begin(env, MDB_RDONLY);
	MDB_dbi dbi = table(txn, NULL, 0);
	get(txn, dbi, "key");
	SAY(put(txn, dbi, "key", "v", 0));
	SAY(del(txn, dbi, "key", NULL));
	SAY(mdb_drop(txn, dbi, 0));
	SAY(mdb_dbi_open(txn, "new", MDB_CREATE, &dbi));
	SAY(mdb_dbi_open(txn, "new", 0, &dbi));
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

static void numbers(void) {
	MDB_env *env = open_env("numbers", 0);
	MDB_envinfo info;
	MDB_stat stat;
	SAY(mdb_env_info(env, &info));
	printf("size %zu txn %zu readers %u\n", info.me_mapsize, info.me_last_txnid, info.me_maxreaders);
	for (int i = 0; i < 3; i++) {
		MDB_txn *txn = begin(env, 0);
		printf("id %zu\n", mdb_txn_id(txn));
		MDB_dbi dbi = table(txn, i ? "named" : NULL, MDB_CREATE);
		SAY(put(txn, dbi, i == 2 ? "b" : "a", "value", 0));
		MUST(mdb_txn_commit(txn));
		MUST(mdb_txn_commit(begin(env, 0)));
		mdb_env_info(env, &info);
		txn = begin(env, MDB_RDONLY);
		printf("last %zu id %zu\n", info.me_last_txnid, mdb_txn_id(txn));
		mdb_txn_abort(txn);
		SAY(mdb_env_stat(env, &stat));
		printf("psize %u depth %u entries %zu leaves %zu\n", stat.ms_psize, stat.ms_depth, stat.ms_entries, stat.ms_leaf_pages);
	}
	SAY(mdb_env_info(NULL, &info));
	SAY(mdb_env_info(env, NULL));
	SAY(mdb_env_stat(NULL, &stat));
	SAY(mdb_env_stat(env, NULL));
	SAY(mdb_env_get_flags(env, NULL));
	SAY(mdb_env_get_path(env, NULL));
	SAY(mdb_env_get_fd(env, NULL));
	SAY(mdb_env_get_fd(NULL, NULL));
	SAY(mdb_env_get_maxreaders(env, NULL));
	SAY(mdb_env_set_userctx(NULL, NULL));
	printf("%d\n", mdb_env_get_userctx(NULL) == NULL);
	SAY(mdb_reader_check(env, NULL));
	int dead = 7;
	SAY(mdb_reader_check(env, &dead));
	printf("dead %d\n", dead);
	mdb_env_close(env);
}

static void sizes(void) {
	MDB_env *env;
	MDB_envinfo info;
	mkdir(place("sizes"), 0777);
	MUST(mdb_env_create(&env));
	MUST(mdb_env_open(env, place("sizes"), 0, 0644));
	mdb_env_info(env, &info);
	printf("default %zu\n", info.me_mapsize);
	SAY(mdb_env_set_mapsize(env, 243712));
	mdb_env_info(env, &info);
	printf("odd %zu\n", info.me_mapsize);
	MDB_txn *txn = begin(env, 0);
	SAY(mdb_env_set_mapsize(env, 1 << 22));
	SAY(put(txn, table(txn, NULL, 0), "k", "v", 0));
	MUST(mdb_txn_commit(txn));
	SAY(mdb_env_set_mapsize(env, 1 << 22));
	txn = begin(env, 0);
	SAY(put(txn, table(txn, NULL, 0), "k", "w", 0));
	MUST(mdb_txn_commit(txn));
	SAY(mdb_env_set_mapsize(env, 0));
	mdb_env_info(env, &info);
	printf("adopted %zu\n", info.me_mapsize);
	mdb_env_close(env);
	MUST(mdb_env_create(&env));
	MUST(mdb_env_open(env, place("sizes"), 0, 0644));
	mdb_env_info(env, &info);
	printf("stored %zu\n", info.me_mapsize);
	mdb_env_close(env);
}

static void full(void) {
	MDB_env *env;
	mkdir(place("full"), 0777);
	MUST(mdb_env_create(&env));
	MUST(mdb_env_set_mapsize(env, 256 << 10));
	MUST(mdb_env_open(env, place("full"), 0, 0644));
	static char big[2000];
	int rc = 0, i;
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, NULL, 0);
	MDB_val data = of_bytes(big, sizeof big);
	for (i = 0; !rc && i < 100000; i++) {
		char name[20];
		snprintf(name, sizeof name, "%06d", i);
		MDB_val key = of_text(name);
		rc = mdb_put(txn, dbi, &key, &data, 0);
	}
	printf("full %d plausible %d\n", rc, i > 50 && i < 200);
	SAY(put(txn, dbi, "more", "x", 0));
	SAY(mdb_txn_commit(txn));
	txn = begin(env, MDB_RDONLY);
	walk(txn, dbi);
	mdb_txn_abort(txn);
	SAY(mdb_env_set_mapsize(env, 4 << 20));
	txn = begin(env, 0);
	for (i = 0, rc = 0; !rc && i < 300; i++) {
		char name[20];
		snprintf(name, sizeof name, "%06d", i);
		MDB_val key = of_text(name);
		rc = mdb_put(txn, dbi, &key, &data, 0);
	}
	printf("after growing %d %d\n", rc, i);
	SAY(mdb_txn_commit(txn));
	mdb_env_close(env);
	/* Little larger than the file: emptying it must still work. (Postfix adds no more than 10240 bytes, which is enough here;
	 * LMDB needs more for its list of free pages.) */
	struct stat st;
	stat(place("full/data.mdb"), &st);
	MUST(mdb_env_create(&env));
	MUST(mdb_env_set_mapsize(env, st.st_size + 102400));
	MUST(mdb_env_open(env, place("full"), 0, 0644));
	txn = begin(env, 0);
	SAY(mdb_drop(txn, table(txn, NULL, 0), 0));
	SAY(mdb_txn_commit(txn));
	mdb_env_close(env);
}

static void store_one(MDB_env *env, const char *key) {
	MDB_txn *txn = begin(env, 0);
	SAY(put(txn, table(txn, NULL, 0), key, "value", 0));
	SAY(mdb_txn_commit(txn));
	SAY(mdb_env_sync(env, 1));
}

/* What is done to files and processes from outside: directories left, lock files lost, empty files, great limits. */
static void strangers(void) {
	char here[4096];
	MDB_env *env;
	MUST(getcwd(here, sizeof here) == NULL);
	mkdir(place("left"), 0777);
	MUST(chdir(base));
	MUST(mdb_env_create(&env));
	SAY(mdb_env_set_mapsize(env, (size_t)1 << 40));
	SAY(mdb_env_open(env, "left", 0, 0600));
	MUST(chdir("/"));
	store_one(env, "a");
	mdb_env_close(env);
	MUST(chdir(here));
	for (int i = 0; i < 3; i++) {
		if (i == 0) MUST(unlink(place("left/lock.mdb")));
		if (i == 1) MUST(truncate(place("left/lock.mdb"), 0));
		if (i == 2) close(open(place("left/INFO.mdb"), O_CREAT | O_WRONLY, 0600));
		env = open_env("left", 0);
		store_one(env, i ? "c" : "b");
		MDB_txn *txn = begin(env, MDB_RDONLY);
		walk(txn, table(txn, NULL, 0));
		mdb_txn_abort(txn);
		mdb_env_close(env);
	}
	close(open(place("void"), O_CREAT | O_WRONLY, 0600));
	env = open_env("void", MDB_NOSUBDIR);
	store_one(env, "a");
	mdb_env_close(env);
}

/* What a program has set the size of is of that size for others before anything is in it. */
static void sized(void) {
	MDB_envinfo info;
	MUST(mkdir(place("sized"), 0777));
	for (int i = 0; i < 3; i++) {
		MDB_env *env;
		MUST(mdb_env_create(&env));
		if (i == 0) MUST(mdb_env_set_mapsize(env, 100 << 20));
		MUST(mdb_env_open(env, place("sized"), i == 1 ? MDB_RDONLY : 0, 0644));
		MUST(mdb_env_info(env, &info));
		printf("%zu\n", info.me_mapsize);
		mdb_env_close(env);
	}
}

/* A program ends without closing, and a copy of the file is put in its place: one from before, or one that it made itself. */
static void restored(const char *name, int hot) {
	char command[9000], saved[4500];
	snprintf(saved, sizeof saved, "%s/%s.saved", base, name);
	MDB_env *env = open_env(name, MDB_NOSUBDIR);
	store_one(env, "saved");
	mdb_env_close(env);
	snprintf(command, sizeof command, "cp %s/%s %s", base, name, saved);
	if (!hot) MUST(system(command));
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		char key[2] = "a";
		env = open_env(name, MDB_NOSUBDIR);
		for (; *key <= 'z'; ++*key) {
			if (hot && *key == 'k') MUST(mdb_env_copy(env, saved));
			MDB_txn *txn = begin(env, 0);
			MUST(put(txn, table(txn, NULL, 0), key, *key < 'k' ? "saved" : "lost", 0));
			MUST(mdb_txn_commit(txn));
		}
		_exit(0);
	}
	int status;
	MUST(waitpid(child, &status, 0) != child);
	printf("%d\n", status);
	snprintf(command, sizeof command, "cp %s %s/%s", saved, base, name);
	MUST(system(command));
	for (int i = 0; i < 2; i++) {
		env = open_env(name, MDB_NOSUBDIR);
		MDB_txn *txn = begin(env, MDB_RDONLY);
		walk(txn, table(txn, NULL, 0));
		mdb_txn_abort(txn);
		store_one(env, "more");
		mdb_env_close(env);
	}
}

/* A user who may only read: the directory, or the files too. */
static void reading_only(void) {
	MDB_env *env = open_env("shown", 0);
	store_one(env, "a");
	mdb_env_close(env);
	chmod(base, 0755);
	chmod(place("shown"), 0555);
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		/* The directories above may be closed to it. */
		MUST(chdir(base));
		base = ".";
		if (getuid() == 0) MUST(setuid(65534));
		MUST(mdb_env_create(&env));
		SAY(mdb_env_open(env, place("shown"), 0, 0644));
		mdb_env_close(env);
		MUST(mdb_env_create(&env));
		SAY(mdb_env_open(env, place("shown"), MDB_RDONLY | MDB_NOLOCK, 0644));
		MDB_txn *txn = begin(env, MDB_RDONLY);
		walk(txn, table(txn, NULL, 0));
		mdb_txn_abort(txn);
		mdb_env_close(env);
		fflush(stdout);
		_exit(0);
	}
	int status = 1;
	waitpid(child, &status, 0);
	printf("%d\n", status);
	chmod(place("shown"), 0755);
}

/* Monitors count free pages: they walk through the list of these, which is a table to LMDB. (Here nothing is ever in it.) */
static void free_pages(void) {
	MDB_env *env = open_env("free", 0);
	MDB_txn *txn = begin(env, MDB_RDONLY);
	MDB_cursor *cursor;
	MDB_val k = of_bytes("12345678", 8), d;
	MDB_stat stat;
	size_t number;
	for (int i = 0; i < 2; i++) {
		SAY(i ? mdb_cursor_renew(txn, cursor) : mdb_cursor_open(txn, 0, &cursor));
		SAY(mdb_cursor_get(cursor, &k, &d, MDB_NEXT));
		SAY(mdb_cursor_get(cursor, &k, &d, MDB_NEXT));
		SAY(mdb_cursor_get(cursor, &k, &d, MDB_PREV));
		SAY(mdb_cursor_get(cursor, &k, &d, MDB_FIRST));
		SAY(mdb_cursor_get(cursor, &k, &d, MDB_LAST));
		SAY(mdb_cursor_get(cursor, &k, &d, MDB_SET_RANGE));
		SAY(mdb_cursor_get(cursor, &k, &d, MDB_SET_KEY));
		SAY(mdb_cursor_count(cursor, &number));
		SAY(mdb_cursor_del(cursor, 0));
		printf("handle %u\n", mdb_cursor_dbi(cursor));
		mdb_txn_reset(txn);
		MUST(mdb_txn_renew(txn));
	}
	SAY(mdb_stat(txn, 0, &stat));
	printf("%zu\n", stat.ms_entries);
	SAY(mdb_get(txn, 0, &k, &d));
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	txn = begin(env, 0);
	SAY(mdb_cursor_open(txn, 0, &cursor));
	SAY(mdb_put(txn, 0, &k, &k, 0));
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

static void say_readers(MDB_env *env) {
	MDB_envinfo info;
	MUST(mdb_env_info(env, &info));
	printf("%u readers\n", info.me_numreaders);
}

/* A line of the list of readers: is it what this thread, with its transaction, would write? */
static int compare_line(const char *line, void *context) {
	char own[100];
	snprintf(own, sizeof own, "%10d %zx %s\n", (int)getpid(), (size_t)pthread_self(), (char *)context);
	printf("own %d\n", !strcmp(line, own));
	return 0;
}

/* The count of readers is that of all processes, the dead included, and does not fall before all have closed. */
static void readers_of_all(unsigned flags) {
	char commit[20];
	MDB_env *env = open_env("readers", flags);
	say_readers(env);
	MDB_txn *txn = begin(env, MDB_RDONLY), *more[2];
	say_readers(env);
	snprintf(commit, sizeof commit, "%zu", mdb_txn_id(txn));
	printf("%d\n", mdb_reader_list(env, compare_line, commit));
	if (!flags) {
		mdb_txn_reset(txn);
		printf("%d\n", mdb_reader_list(env, compare_line, "-"));
		MUST(mdb_txn_renew(txn));
	}
	for (int round = 0; round < 2; round++) {
		fflush(stdout);
		pid_t child = fork();
		if (!child) {
			MDB_env *own = open_env("readers", MDB_NOTLS);
			say_readers(own);
			for (int i = 0; i < 2; i++) more[i] = begin(own, MDB_RDONLY);
			say_readers(own);
			if (round == 0) {
				for (int i = 0; i < 2; i++) mdb_txn_abort(more[i]);
				mdb_env_close(own);
			}
			fflush(stdout);
			_exit(0);
		}
		waitpid(child, NULL, 0);
		say_readers(env);
	}
	mdb_txn_abort(txn);
	say_readers(env);
	mdb_env_close(env);
	env = open_env("readers", 0);
	say_readers(env);
	mdb_env_close(env);
}

int main(int argc, char **argv) {
	base = argc > 1 ? argv[1] : ".";
	setvbuf(stdout, NULL, _IOLBF, 0);
	texts();
	before_opening();
	refusals();
	files();
	all_flags();
	numbers();
	sizes();
	free_pages();
	full();
	strangers();
	sized();
	restored("restored", 0);
	restored("hot", 1);
	reading_only();
	readers_of_all(0);
	readers_of_all(MDB_NOTLS);
	return 0;
}
