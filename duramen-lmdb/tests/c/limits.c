/* Limits and lengths: what fits into a map, how much of it is asked for, how many readers, how long keys are, where values lie. */
#define _GNU_SOURCE
#include "say.h"
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { ENTRIES = 400 };

static MDB_env *open_with(const char *name, size_t mapsize, unsigned flags) {
	MDB_env *env;
	mkdir(place(name), 0777);
	MUST(mdb_env_create(&env));
	MUST(mdb_env_set_maxdbs(env, 8));
	if (mapsize) MUST(mdb_env_set_mapsize(env, mapsize));
	MUST(mdb_env_open(env, place(name), flags, 0644));
	return env;
}

static size_t file_bytes(const char *name) {
	char file[5000];
	struct stat st;
	snprintf(file, sizeof file, "%s/data.mdb", place(name));
	MUST(stat(file, &st));
	return st.st_size;
}

static int put_number(MDB_txn *txn, MDB_dbi dbi, int i, size_t size, unsigned flags) {
	static char value[70000];
	char key[16];
	snprintf(key, sizeof key, "%06d", i);
	MDB_val k = of_text(key), d = of_bytes(value, size);
	return mdb_put(txn, dbi, &k, &d, flags);
}

static size_t entries(MDB_txn *txn, MDB_dbi dbi) {
	MDB_stat stat;
	MUST(mdb_stat(txn, dbi, &stat));
	return stat.ms_entries;
}

/* Every page is needed twice as long as somebody reads what was there before: deleting finds no room for its copies. */
static void full_by_deleting(void) {
	MDB_env *env = open_with("deleting", 8 << 20, MDB_NOTLS);
	MDB_txn *txn = begin(env, 0), *reader;
	MDB_dbi dbi = table(txn, NULL, 0);
	MDB_cursor *cursor;
	MDB_val k;
	for (int i = 0; i < ENTRIES; i++) MUST(put_number(txn, dbi, i, 1500, 0));
	MUST(mdb_txn_commit(txn));
	mdb_env_close(env);
	for (int by_cursor = 0; by_cursor < 2; by_cursor++) {
		env = open_with("deleting", file_bytes("deleting") + 65536, MDB_NOTLS);
		reader = begin(env, MDB_RDONLY);
		txn = begin(env, 0);
		dbi = table(txn, NULL, 0);
		MUST(mdb_cursor_open(txn, dbi, &cursor));
		int rc = 0, i = 2 * by_cursor;
		for (; !rc && i < ENTRIES; i += 2) {
			char key[16];
			snprintf(key, sizeof key, "%06d", i);
			k = of_text(key);
			if (by_cursor) MUST(mdb_cursor_get(cursor, &k, NULL, MDB_SET));
			rc = by_cursor ? mdb_cursor_del(cursor, 0) : mdb_del(txn, dbi, &k, NULL);
		}
		printf("deleting: %d plausible %d\n", rc, i > 4 && i < ENTRIES);
		SAY(put(txn, dbi, "more", "x", 0));
		SAY(del(txn, dbi, "000001", NULL));
		mdb_cursor_close(cursor);
		SAY(mdb_txn_commit(txn));
		txn = begin(env, 0);
		printf("left %zu\n", entries(txn, dbi));
		mdb_txn_abort(txn);
		mdb_txn_abort(reader);
		SAY(mdb_env_set_mapsize(env, 8 << 20));
		txn = begin(env, 0);
		SAY(del(txn, dbi, by_cursor ? "000001" : "000000", NULL));
		SAY(mdb_txn_commit(txn));
		mdb_env_close(env);
	}
}

/* Stores entries of this length, ten in a transaction, until the map is full; the number behind the last. */
static int fill(MDB_env *env, int next, size_t size) {
	for (;;) {
		MDB_txn *txn = begin(env, 0);
		MDB_dbi dbi = table(txn, NULL, 0);
		int rc = 0;
		for (int i = 0; !rc && i < 10; i++) rc = put_number(txn, dbi, next + i, size, 0);
		rc = rc ? (mdb_txn_abort(txn), rc) : mdb_txn_commit(txn);
		if (rc) return printf("full: %d\n", rc), next;
		next += 10;
	}
}

/* A child finds the map full. Aborted, it leaves its parent as it was; a commit of it fails, and the parent with it. */
static void full_in_a_child(void) {
	static char bytes[2 << 20];
	for (int commits = 0; commits < 2; commits++) {
		MDB_env *env;
		mkdir(place(commits ? "full child committed" : "full child aborted"), 0777);
		MUST(mdb_env_create(&env));
		MUST(mdb_env_set_mapsize(env, 1 << 20));
		MUST(mdb_env_open(env, path, 0, 0644));
		MDB_txn *txn = begin(env, 0), *child;
		MDB_dbi dbi = table(txn, NULL, 0);
		SAY(put(txn, dbi, "parent", "value", 0));
		MUST(mdb_txn_begin(env, txn, 0, &child));
		SAY(put(child, dbi, "child", "value", 0));
		MDB_val key = of_text("large"), data = of_bytes(bytes, sizeof bytes);
		SAY(mdb_put(child, dbi, &key, &data, 0));
		if (commits) SAY(mdb_txn_commit(child));
		else mdb_txn_abort(child);
		get(txn, dbi, "parent");
		SAY(put(txn, dbi, "more", "value", 0));
		SAY(mdb_txn_commit(txn));
		txn = begin(env, MDB_RDONLY);
		walk(txn, dbi);
		mdb_txn_abort(txn);
		mdb_env_close(env);
	}
}

/* Where values of a few pages were deleted, longer ones do not fit into the holes: whoever stores some is told that the map
 * is full, and the file gets no longer, however often it is opened. That somebody once had a larger map is nothing to readers. */
static void short_holes(void) {
	const size_t map = 8 << 20;
	MDB_env *env = open_with("holes", 2 * map, MDB_NOSYNC);
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, NULL, 0);
	MUST(put_number(txn, dbi, 0, 10, 0));
	MUST(mdb_txn_commit(txn));
	mdb_env_close(env);
	for (int round = 0, first = 0, next = 0; round < 4; round++, first = next) {
		env = open_with("holes", map, MDB_NOSYNC);
		next = fill(env, first, 5000 + 9000 * round);
		printf("round %d: limit kept %d\n", round, file_bytes("holes") <= map + 2 * 4096);
		for (int i = first; i < next; i += 20) {
			txn = begin(env, 0);
			for (int j = i; j < i + 20 && j < next; j += 2) {
				char key[16];
				snprintf(key, sizeof key, "%06d", j);
				MUST(del(txn, dbi, key, NULL));
			}
			MUST(mdb_txn_commit(txn));
		}
		SAY(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
		mdb_txn_abort(txn);
		mdb_env_close(env);
	}
}

/* A named table made and filled in one transaction that does not fit, at whatever call that shows. */
static void nothing_remains(void) {
	MDB_env *env = open_with("remains", 20 * 4096, 0);
	for (int round = 0; round < 3; round++) {
		MDB_txn *txn = begin(env, 0);
		MDB_dbi dbi = table(txn, "t", MDB_CREATE);
		int rc = 0;
		for (int i = 0; !rc && i < 100; i++) rc = put_number(txn, dbi, i, 2000, 0);
		rc = rc ? (mdb_txn_abort(txn), rc) : mdb_txn_commit(txn);
		printf("round %d: %d\n", round, rc);
		txn = begin(env, MDB_RDONLY);
		SAY(mdb_dbi_open(txn, "t", 0, &dbi));
		printf("entries in main %zu\n", entries(txn, table(txn, NULL, 0)));
		mdb_txn_abort(txn);
		if (round == 1) SAY(mdb_env_set_mapsize(env, 4 << 20));
	}
	mdb_env_close(env);
}

/* Programs look where LMDB has it in the transaction behind which page the next one lies, and make the map larger in time. */
static size_t next_page(const MDB_txn *txn) {
	return ((const size_t *)txn)[2];
}

/* However little room there is, a transaction that changes nothing commits. */
static void no_room_needed(void) {
	for (size_t pages = 1; pages <= 24; pages++) {
		char name[32];
		MDB_txn *txn;
		MDB_dbi dbi;
		MDB_stat stat;
		snprintf(name, sizeof name, "no room %zu", pages);
		MDB_env *env = open_with(name, pages << 12, 0);
		SAY(mdb_txn_begin(env, NULL, 0, &txn));
		SAY(mdb_dbi_open(txn, NULL, 0, &dbi));
		SAY(mdb_txn_commit(txn));
		for (int i = 0, rc = 0; !rc; i++) {
			txn = begin(env, 0);
			rc = put_number(txn, dbi, i, 500, 0);
			if (rc) mdb_txn_abort(txn);
			else rc = mdb_txn_commit(txn);
			if (rc) printf("%d\n", rc);
		}
		/* Deletions may use what is left for them. */
		for (int i = 0; i < 4; i++) {
			unsigned long number = i;
			MDB_val k = of_bytes(&number, sizeof number);
			txn = begin(env, 0);
			if (mdb_del(txn, dbi, &k, NULL)) mdb_txn_abort(txn);
			else mdb_txn_commit(txn);
		}
		for (int i = 0; i < 3; i++) {
			SAY(mdb_txn_begin(env, NULL, 0, &txn));
			SAY(mdb_dbi_open(txn, NULL, 0, &dbi));
			SAY(mdb_stat(txn, dbi, &stat));
			SAY(mdb_txn_commit(txn));
		}
		mdb_env_close(env);
	}
}

static void grown_in_time(void) {
	const size_t room = 64 << 10, page = 4096;
	size_t map = 256 << 10, began;
	MDB_env *env = open_with("in time", map, 0);
	MDB_envinfo info;
	MDB_dbi dbi = 0;
	int changes = 0, i = 0;
	for (int round = 0; round < 20; round++) {
		MDB_txn *txn = begin(env, 0), *child;
		MUST(mdb_env_info(env, &info));
		changes += next_page(txn) != info.me_last_pgno + 1;
		dbi = table(txn, NULL, 0);
		began = next_page(txn);
		MUST(mdb_txn_begin(env, txn, 0, &child));
		changes += next_page(child) != began;
		for (; i < ENTRIES * (round + 1) && map - next_page(child) * page >= room; i++)
			MUST(put_number(child, dbi, i, 1500, 0));
		changes += next_page(child) <= began;
		MUST(mdb_txn_commit(child));
		changes += next_page(txn) <= began;
		MUST(mdb_txn_commit(txn));
		txn = begin(env, MDB_RDONLY);
		MUST(mdb_env_info(env, &info));
		changes += next_page(txn) != info.me_last_pgno + 1;
		mdb_txn_abort(txn);
		if (map - (info.me_last_pgno + 1) * page < 2 * room) MUST(mdb_env_set_mapsize(env, map *= 2));
	}
	printf("grown in time: %d entries, %d surprises, %zu MiB or more\n", i, changes, map >> 20 ? (size_t)1 : 0);
	mdb_env_close(env);
}

static void sizes_asked_for(void) {
	MDB_envinfo info;
	MDB_env *env = open_with("default", 0, 0);
	int fits[2];
	for (int i = 0; i < 2; i++) {
		MDB_txn *txn = begin(env, 0);
		MDB_dbi dbi = table(txn, NULL, 0);
		int rc = 0, most = i ? 1500 : 300;
		for (int j = 0; !rc && j < most; j++) rc = put_number(txn, dbi, j, 1000, 0);
		fits[i] = rc ? rc : mdb_txn_commit(txn);
		if (rc) mdb_txn_abort(txn);
	}
	printf("300 entries %d, 1500 entries %d\n", fits[0], fits[1]);
	mdb_env_close(env);
	/* Too little is as much as is in use; the file's own length is enough; rounded up for readers. */
	size_t length = file_bytes("default");
	size_t asked[] = {10, 1000000, 140000, length, (length + 9999) / 10000 * 10000};
	for (int i = 0; i < 10; i++) {
		env = open_with("default", asked[i / 2], i % 2 ? MDB_RDONLY : 0);
		MUST(mdb_env_info(env, &info));
		MDB_txn *txn = begin(env, MDB_RDONLY);
		printf("asked %d: enough %d entries %zu\n", i, info.me_mapsize >= (info.me_last_pgno + 1) * 4096, entries(txn, table(txn, NULL, 0)));
		mdb_txn_abort(txn);
		if (i % 2 == 0) {
			txn = begin(env, 0);
			int rc = mdb_drop(txn, table(txn, NULL, 0), 0), ended = mdb_txn_commit(txn);
			printf("emptied: %d\n", rc ? rc : ended);
		}
		mdb_env_close(env);
	}
	/* Larger, used, smaller again, in one open environment. */
	env = open_with("default", 0, 0);
	SAY(mdb_env_set_mapsize(env, 16 << 20));
	SAY(mdb_env_set_mapsize(env, 4096));
	MUST(mdb_env_info(env, &info));
	printf("not less than is used %d\n", info.me_mapsize > 300 * 1000 && info.me_mapsize < 2 << 20);
	mdb_env_close(env);
}

/* What makeblastdb reckons with: pages in use, from the numbers, hold what was stored, and grow with it. */
static void arithmetic(void) {
	MDB_env *env = open_with("numbers", 64 << 20, 0);
	size_t before = 0;
	for (int round = 1; round <= 4; round++) {
		MDB_txn *txn = begin(env, 0);
		MDB_dbi dbi = table(txn, "t", MDB_CREATE);
		for (int i = 0; i < 200; i++) MUST(put_number(txn, dbi, round * 1000 + i, i % 10 ? 500 : 20000, 0));
		MUST(mdb_txn_commit(txn));
		MDB_envinfo info;
		MDB_stat stat;
		MUST(mdb_env_info(env, &info));
		txn = begin(env, MDB_RDONLY);
		MUST(mdb_stat(txn, dbi, &stat));
		mdb_txn_abort(txn);
		size_t used = (info.me_last_pgno + 1) * stat.ms_psize, stored = round * (180 * 500 + 20 * 20000);
		size_t pages = stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
		printf("entries %zu: %d %d %d %d\n", stat.ms_entries, used > stored, used < 3 * stored, used > before,
			pages * stat.ms_psize > stored && pages <= info.me_last_pgno);
		before = used;
	}
	mdb_env_close(env);
}

/* Names and modes of the files. */
static void modes(void) {
	static const unsigned modes[] = {0600, 0640, 0660, 0666, 0664, 02660, 01640};
	for (int mask = 0; mask < 2; mask++) {
		umask(mask ? 027 : 0);
		for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
			static const char *const names[] = {"data.mdb", "lock.mdb"};
			char name[32], file[5000];
			snprintf(name, sizeof name, "mode%d%zu", mask, i);
			mkdir(place(name), 0777);
			MDB_env *env;
			MUST(mdb_env_create(&env));
			MUST(mdb_env_open(env, place(name), 0, modes[i]));
			for (int j = 0; j < 2; j++) {
				struct stat st;
				snprintf(file, sizeof file, "%s/%s", place(name), names[j]);
				MUST(stat(file, &st));
				printf("%s %o: %o\n", names[j], modes[i], st.st_mode & 07777);
			}
			mdb_env_close(env);
		}
	}
	umask(022);
}

/* As many readers as were asked for, and no more. */
static void many_readers(void) {
	enum { READERS = 1162 };
	static MDB_txn *txns[READERS + 1];
	MDB_env *env;
	unsigned max;
	mkdir(place("readers"), 0777);
	MUST(mdb_env_create(&env));
	MUST(mdb_env_set_maxreaders(env, READERS));
	MUST(mdb_env_open(env, place("readers"), MDB_NOTLS, 0644));
	SAY(mdb_env_get_maxreaders(env, &max));
	printf("%u\n", max);
	int i = 0, rc = 0;
	while (i <= READERS && !(rc = mdb_txn_begin(env, NULL, MDB_RDONLY, &txns[i]))) i++;
	printf("%d readers, then %d\n", i, rc);
	while (i--) mdb_txn_abort(txns[i]);
	mdb_env_close(env);
}

static MDB_env *unlocked;

static void *read_elsewhere(void *unused) {
	MDB_txn *txn;
	SAY(mdb_txn_begin(unlocked, NULL, MDB_RDONLY, &txn));
	mdb_txn_abort(txn);
	return unused;
}

static int say_line(const char *line, void *unused) {
	return printf("%s", line), unused != NULL;
}

/* Without a lock file nobody counts readers, neither all of them nor those of a thread: programs that read images ask
 * for one, and have many. */
static void uncounted_readers(void) {
	for (unsigned flags = MDB_NOLOCK, i = 0; i < 3; flags = i++ ? MDB_NOLOCK | MDB_NOTLS : MDB_NOLOCK | MDB_RDONLY) {
		mkdir(place("uncounted"), 0777);
		MUST(mdb_env_create(&unlocked));
		MUST(mdb_env_set_maxreaders(unlocked, 1));
		MUST(mdb_env_open(unlocked, place("uncounted"), flags, 0644));
		MDB_txn *txns[200], *other;
		for (int j = 0; j < 200; j++) MUST(mdb_txn_begin(unlocked, NULL, MDB_RDONLY, &txns[j]));
		pthread_t thread;
		pthread_create(&thread, NULL, read_elsewhere, NULL);
		pthread_join(thread, NULL);
		SAY(mdb_reader_list(unlocked, say_line, NULL));
		mdb_txn_reset(txns[0]);
		SAY(mdb_txn_begin(unlocked, NULL, MDB_RDONLY, &other));
		SAY(mdb_txn_renew(txns[0]));
		MDB_envinfo info;
		MUST(mdb_env_info(unlocked, &info));
		printf("%u of %u\n", info.me_numreaders, info.me_maxreaders);
		mdb_txn_abort(other);
		for (int j = 0; j < 200; j++) mdb_txn_abort(txns[j]);
		mdb_env_close(unlocked);
	}
}

/* A child with a filesystem of its own, on which nothing can be written: no more can the lock file there. */
static int mount_read_only(const char *name) {
	return unshare(CLONE_NEWNS) || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) ||
	       mount(place(name), place(name), "none", MS_BIND, NULL) ||
	       mount("none", place(name), "none", MS_BIND | MS_REMOUNT | MS_RDONLY, NULL);
}

/* So it is on media that cannot be written to. */
static void uncounted_on_media(void) {
	mdb_env_close(open_with("medium", 1 << 20, 0));
	for (unsigned flags = 0, i = 0; i < 2; flags = MDB_NOTLS, i++) {
		pid_t child = fork();
		if (child == 0) {
			/* Only root may, and not in every container. */
			if (mount_read_only("medium")) exit(0);
			MDB_txn *txns[20];
			MUST(mdb_env_create(&unlocked));
			MUST(mdb_env_set_maxreaders(unlocked, 1));
			MUST(mdb_env_open(unlocked, place("medium"), MDB_RDONLY | flags, 0644));
			for (int j = 0; j < 20; j++) MUST(mdb_txn_begin(unlocked, NULL, MDB_RDONLY, &txns[j]));
			SAY(mdb_reader_list(unlocked, say_line, NULL));
			for (int j = 0; j < 20; j++) mdb_txn_abort(txns[j]);
			mdb_env_close(unlocked);
			exit(0);
		}
		int status;
		waitpid(child, &status, 0);
		printf("ended with %d\n", status);
	}
}

static void lengths(void) {
	MDB_env *env = open_with("lengths", 64 << 20, 0);
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dup = table(txn, "dup", MDB_CREATE | MDB_DUPSORT);
	static char bytes[600];
	printf("%d\n", mdb_env_get_maxkeysize(NULL));
	for (size_t size = 509; size < 514; size++) {
		MDB_val k = of_text("k"), d = of_bytes(bytes, size);
		SAY(mdb_put(txn, dup, &k, &d, 0));
		SAY(mdb_get(txn, dup, &d, &k));
	}
	MDB_val k = of_text("k"), d = of_bytes(bytes, sizeof bytes);
	SAY(mdb_del(txn, dup, &k, &d));
	k = of_text("none"), d = of_text("");
	SAY(mdb_put(txn, dup, &k, &d, 0));
	SAY(mdb_put(txn, dup, &k, &d, MDB_NODUPDATA));
	SAY(mdb_get(txn, dup, &k, &d));
	printf("%zu\n", d.mv_size);
	/* A name is a key of the main table. */
	for (size_t size = 510; size < 514; size++) {
		char name[600] = "";
		memset(name, 'n', size);
		SAY(mdb_dbi_open(txn, name, 0, &dup));
		SAY(mdb_dbi_open(txn, name, MDB_CREATE, &dup));
	}
	printf("%zu in main\n", entries(txn, table(txn, NULL, 0)));
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

/* Programs read numbers, and structures that begin with one, where they lie. */
static void lie_evenly(MDB_txn *txn, MDB_dbi dbi, const char *what, unsigned keys) {
	MDB_cursor *cursor;
	MDB_val k, d;
	unsigned long odd_keys = 0, odd_values = 0, odd_large = 0, count = 0;
	MUST(mdb_cursor_open(txn, dbi, &cursor));
	while (!mdb_cursor_get(cursor, &k, &d, MDB_NEXT)) {
		count++;
		odd_keys += keys && (size_t)k.mv_data % 2;
		odd_values += (size_t)d.mv_data % 2;
		odd_large += d.mv_size > 5000 && (size_t)d.mv_data % 16;
	}
	mdb_cursor_close(cursor);
	printf("%s: %lu entries, odd %lu %lu %lu\n", what, count, odd_keys, odd_values, odd_large);
}

static void alignment(void) {
	MDB_env *env = open_with("alignment", 64 << 20, 0);
	for (int commit = 0; commit < 2; commit++) {
		MDB_txn *txn = begin(env, 0);
		MDB_dbi plain = table(txn, "plain", MDB_CREATE), ints = table(txn, "ints", MDB_CREATE | MDB_INTEGERKEY);
		MDB_dbi fixed = table(txn, "fixed", MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP);
		MDB_dbi few = table(txn, "few", MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED | MDB_INTEGERDUP);
		for (int i = 0; i < 3000; i++) {
			unsigned long number = i;
			unsigned owner = i % 7, member = i;
			MUST(put_number(txn, plain, i, i % 50 ? i % 97 : 6000 + i, 0));
			MDB_val k = of_bytes(&number, sizeof number), d = of_bytes("padding padding padding", i % 23);
			MUST(mdb_put(txn, ints, &k, &d, 0));
			k = of_bytes("even keys", 2 + owner / 3 * 2), d = of_bytes(&member, sizeof member);
			MUST(mdb_put(txn, fixed, &k, &d, 0));
			k = of_bytes(&member, 4);
			MUST(mdb_put(txn, few, &k, &d, 0));
			if (i % 3) d.mv_data = &owner;
			MUST(mdb_put(txn, few, &k, &d, 0));
		}
		lie_evenly(txn, plain, "plain", 0);
		lie_evenly(txn, ints, "integer keys", 1);
		lie_evenly(txn, fixed, "many integers a key", 0);
		lie_evenly(txn, few, "few integers a key", 0);
		MUST(mdb_txn_commit(txn));
	}
	mdb_env_close(env);
}

static void lie_at_eights(MDB_txn *txn, MDB_dbi dbi, const char *what) {
	MDB_cursor *cursor;
	MDB_val k, d;
	unsigned long count = 0, elsewhere = 0;
	MUST(mdb_cursor_open(txn, dbi, &cursor));
	while (!mdb_cursor_get(cursor, &k, &d, MDB_NEXT)) {
		count++;
		elsewhere += ((size_t)k.mv_data | (size_t)d.mv_data) % 8 != 0;
	}
	mdb_cursor_close(cursor);
	printf("%s: %lu entries, %lu not at multiples of 8\n", what, count, elsewhere);
}

/* Where all lengths are multiples of 8, so are the places: programs are built with checks of that. */
static void alignment_of_eights(void) {
	static const char bytes[8000];
	MDB_env *env = open_with("eights", 64 << 20, 0);
	for (int commit = 0; commit < 2; commit++) {
		MDB_txn *txn = begin(env, 0);
		MDB_dbi plain = table(txn, "plain", MDB_CREATE);
		MDB_dbi few = table(txn, "few", MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED);
		MDB_dbi many = table(txn, "many", MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED);
		for (unsigned long i = 0; i < 4000; i++) {
			unsigned long number = (i * 7919 + (unsigned long)commit * 31) % 4000, owner = number % 900, value[2] = {i, i};
			MDB_val k = of_bytes(&number, 8), d = of_bytes((void *)bytes, i % 500 ? 8 * (i % 23) : 8000);
			MUST(mdb_put(txn, plain, &k, &d, 0));
			d = of_bytes(value, 16), k = of_bytes(&owner, 8);
			MUST(mdb_put(txn, few, &k, &d, 0));
			owner %= 5;
			MUST(mdb_put(txn, many, &k, &d, 0));
			if (i % 3) continue;
			number = i * 31 % 4000, k = of_bytes(&number, 8);
			mdb_del(txn, plain, &k, NULL);
			MDB_cursor *cursor;
			MUST(mdb_cursor_open(txn, few, &cursor));
			owner = i % 900, k = of_bytes(&owner, 8);
			if (!mdb_cursor_get(cursor, &k, &d, MDB_SET)) MUST(mdb_cursor_del(cursor, 0));
			mdb_cursor_close(cursor);
		}
		lie_at_eights(txn, plain, "plain");
		lie_at_eights(txn, few, "few values a key");
		lie_at_eights(txn, many, "many values a key");
		MUST(mdb_txn_commit(txn));
		txn = begin(env, MDB_RDONLY);
		lie_at_eights(txn, plain, "plain, read");
		lie_at_eights(txn, few, "few values a key, read");
		mdb_txn_abort(txn);
	}
	mdb_env_close(env);
}

/* A process of little address space stores as much as it has asked for: half of it. */
static void little_address_space(void) {
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		struct rlimit limit = {256 << 20, 256 << 20};
		MUST(setrlimit(RLIMIT_AS, &limit));
		MDB_env *env = open_with("little", 128 << 20, MDB_NOSYNC);
		MDB_txn *txn;
		MDB_dbi dbi;
		for (int round = 0; round < 40; round++) {
			MUST(mdb_txn_begin(env, NULL, 0, &txn));
			MUST(mdb_dbi_open(txn, NULL, 0, &dbi));
			for (int i = 0; i < 100; i++) MUST(put_number(txn, dbi, 100 * round + i, 20000, 0));
			MUST(mdb_txn_commit(txn));
		}
		MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
		printf("%zu entries\n", entries(txn, dbi));
		mdb_txn_abort(txn);
		mdb_env_close(env);
		fflush(stdout);
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	printf("ended with %d\n", status);
}

static void say_size(MDB_env *env) {
	MDB_envinfo info;
	MUST(mdb_env_info(env, &info));
	printf("%zu\n", info.me_mapsize);
}

/* A size of 0 is the one that the file remembers: from the beginning the one that it was made with, and the highest that was
 * set when something was committed. */
static void remembered(const char *name, size_t made_with) {
	static const size_t sizes[] = {0, 50 << 20, 0, 5 << 20, 0, 3 << 20};
	MDB_env *env;
	mkdir(place(name), 0777);
	for (int committed = 0; committed < 2; committed++) {
		MUST(mdb_env_create(&env));
		if (made_with) MUST(mdb_env_set_mapsize(env, made_with));
		MUST(mdb_env_open(env, path, 0, 0644));
		say_size(env);
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			SAY(mdb_env_set_mapsize(env, sizes[i]));
			say_size(env);
		}
		MDB_txn *txn = begin(env, 0);
		MUST(put(txn, table(txn, NULL, 0), "k", committed ? "v" : "w", 0));
		MUST(mdb_txn_commit(txn));
		made_with = 0;
		SAY(mdb_env_set_mapsize(env, 0));
		say_size(env);
		mdb_env_close(env);
	}
}

int main(int argc, char **argv) {
	base = argc > 1 ? argv[1] : ".";
	setvbuf(stdout, NULL, _IOLBF, 0);
	full_by_deleting();
	full_in_a_child();
	short_holes();
	nothing_remains();
	no_room_needed();
	grown_in_time();
	sizes_asked_for();
	arithmetic();
	modes();
	many_readers();
	uncounted_readers();
	uncounted_on_media();
	lengths();
	alignment();
	alignment_of_eights();
	little_address_space();
	remembered("remembered", 0);
	remembered("remembered 10", 10 << 20);
	return 0;
}
