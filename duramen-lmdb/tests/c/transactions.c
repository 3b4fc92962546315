/* Transactions: nesting, resetting, handles, readers, copies. */
#include "say.h"
#include <pthread.h>
#include <sys/wait.h>

static void nesting(void) {
	MDB_env *env = open_env("nesting", 0);
	MDB_txn *parent = begin(env, 0), *child, *other;
	MDB_dbi dbi = table(parent, "t", MDB_CREATE), made;
	MDB_cursor *cursor;
	SAY(put(parent, dbi, "a", "parent", 0));
	SAY(put(parent, dbi, "b", "parent", 0));
	MUST(mdb_cursor_open(parent, dbi, &cursor));
	move(cursor, MDB_SET_KEY, "a", NULL);
	SAY(mdb_txn_begin(env, parent, 0, &child));
	printf("id %d\n", mdb_txn_id(child) == mdb_txn_id(parent));
	SAY(put(parent, dbi, "c", "x", 0));
	SAY(mdb_txn_begin(env, parent, 0, &other));
	printf("%d\n", mdb_cursor_txn(cursor) == child);
	SAY(mdb_cursor_del(cursor, 0));
	move(cursor, MDB_GET_CURRENT, NULL, NULL);
	SAY(mdb_dbi_open(child, "made", MDB_CREATE, &made));
	SAY(put(child, made, "k", "v", 0));
	mdb_txn_abort(child);
	printf("%d\n", mdb_cursor_txn(cursor) == parent);
	move(cursor, MDB_GET_CURRENT, NULL, NULL);
	SAY(put(parent, made, "k", "v", 0));
	SAY(mdb_txn_begin(env, parent, 0, &child));
	SAY(put(child, dbi, "a", "child", 0));
	SAY(mdb_txn_begin(env, child, 0, &other));
	SAY(put(other, dbi, "d", "grandchild", 0));
	SAY(mdb_txn_commit(other));
	SAY(mdb_txn_commit(child));
	move(cursor, MDB_GET_CURRENT, NULL, NULL);
	SAY(mdb_txn_begin(env, parent, MDB_RDONLY, &child));
	walk(parent, dbi);
	/* Committing a parent commits its child. */
	SAY(mdb_txn_begin(env, parent, 0, &child));
	SAY(put(child, dbi, "e", "with its parent", 0));
	SAY(mdb_txn_commit(parent));
	parent = begin(env, MDB_RDONLY);
	walk(parent, dbi);
	SAY(mdb_txn_begin(env, parent, 0, &child));
	mdb_txn_abort(parent);
	SAY(mdb_txn_commit(NULL));
	mdb_txn_abort(NULL);
	mdb_env_close(env);
	env = open_env("nesting", MDB_WRITEMAP);
	parent = begin(env, 0);
	SAY(mdb_txn_begin(env, parent, 0, &child));
	mdb_txn_abort(parent);
	mdb_env_close(env);
}

/* Cursors on several tables stand where they stood when a child comes to nothing, and where it left them otherwise. */
static void nested_cursors(void) {
	static const MDB_cursor_op looks[] = {MDB_GET_CURRENT, MDB_NEXT, MDB_GET_CURRENT};
	MDB_env *env = open_env("nested cursors", 0);
	MDB_txn *parent = begin(env, 0), *child, *grandchild;
	MDB_dbi one = table(parent, "one", MDB_CREATE), many = table(parent, "many", MDB_CREATE | MDB_DUPSORT);
	MDB_cursor *held[6], *own;
	for (char key[] = "a", value[] = "1"; key[0] < 'f'; key[0]++) {
		MUST(put(parent, one, key, "first", 0));
		for (value[0] = '1'; value[0] < '5'; value[0]++) MUST(put(parent, many, key, value, 0));
	}
	for (int i = 0; i < 6; i++) MUST(mdb_cursor_open(parent, i % 2 ? one : many, &held[i]));
	move(held[0], MDB_GET_BOTH, "b", "3");
	move(held[1], MDB_SET_KEY, "c", NULL);
	move(held[2], MDB_SET_KEY, "c", NULL);
	SAY(mdb_cursor_del(held[2], 0));
	move(held[3], MDB_SET_KEY, "d", NULL);
	SAY(mdb_cursor_del(held[3], 0));
	for (int keep = 0; keep < 2; keep++) {
		MUST(mdb_txn_begin(env, parent, 0, &child));
		MUST(mdb_cursor_open(child, many, &own));
		move(own, MDB_LAST, NULL, NULL);
		MUST(mdb_cursor_open(child, one, &own));
		move(own, MDB_FIRST, NULL, NULL);
		SAY(mdb_cursor_del(own, 0));
		MUST(mdb_txn_begin(env, child, 0, &grandchild));
		move(held[0], MDB_NEXT_NODUP, NULL, NULL);
		move(held[1], MDB_NEXT, NULL, NULL);
		SAY(mdb_cursor_del(held[1], 0));
		move(held[5], MDB_LAST, NULL, NULL);
		SAY(mdb_drop(grandchild, many, 0));
		SAY(put(grandchild, many, "b", "2", 0));
		mdb_txn_abort(grandchild);
		for (int i = 0; i < 4; i++) move(held[i], MDB_NEXT, NULL, NULL);
		if (keep) SAY(mdb_txn_commit(child));
		else mdb_txn_abort(child);
		for (int i = 0; i < 6; i++) {
			printf("%d\n", mdb_cursor_txn(held[i]) == parent);
			for (int look = 0; look < 3 && i < 4; look++) move(held[i], looks[look], NULL, NULL);
		}
		walk(parent, one);
		walk(parent, many);
	}
	SAY(mdb_txn_commit(parent));
	mdb_env_close(env);
}

/* How a table's order has two keys, and two values. Signs alone: how far apart they are is nobody's business. */
static void compared(MDB_txn *txn, MDB_dbi dbi) {
	MDB_val a = of_text("ab"), b = of_text("ba");
	printf("%d %d\n", mdb_cmp(txn, dbi, &a, &b) > 0, mdb_dcmp(txn, dbi, &a, &b) > 0);
}

/* Programs sort by a table's order whatever state the transaction is in. */
static void comparing(void) {
	MDB_env *env = open_env("comparing", 0);
	MDB_txn *txn = begin(env, 0), *child, *reader;
	MDB_dbi dbi = table(txn, "t", MDB_CREATE | MDB_DUPSORT | MDB_REVERSEKEY | MDB_REVERSEDUP);
	MUST(mdb_txn_commit(txn));
	txn = begin(env, 0);
	MUST(mdb_txn_begin(env, txn, 0, &child));
	compared(txn, dbi);
	compared(child, dbi);
	mdb_txn_abort(txn);
	for (int looked = 0; looked < 2; looked++) {
		reader = begin(env, MDB_RDONLY);
		if (looked) compared(reader, dbi);
		mdb_txn_reset(reader);
		compared(reader, dbi);
		MUST(mdb_txn_renew(reader));
		compared(reader, dbi);
		mdb_txn_abort(reader);
	}
	mdb_env_close(env);
}

static void resetting(void) {
	MDB_env *env = open_env("resetting", 0);
	MDB_txn *txn = begin(env, 0), *reader;
	MDB_dbi dbi = table(txn, NULL, 0);
	MDB_cursor *cursor, *held;
	SAY(put(txn, dbi, "k", "1", 0));
	SAY(mdb_txn_renew(txn));
	mdb_txn_reset(txn);
	MUST(mdb_cursor_open(txn, dbi, &held));
	SAY(mdb_cursor_renew(txn, held));
	SAY(mdb_txn_commit(txn));
	reader = begin(env, MDB_RDONLY);
	SAY(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
	MUST(mdb_cursor_open(reader, dbi, &cursor));
	move(cursor, MDB_FIRST, NULL, NULL);
	SAY(mdb_txn_renew(reader));
	size_t read = mdb_txn_id(reader);
	mdb_txn_reset(reader);
	printf("%d\n", mdb_txn_id(reader) == read);
	SAY(mdb_txn_commit(reader));
	mdb_cursor_close(cursor);
	reader = begin(env, MDB_RDONLY);
	MUST(mdb_cursor_open(reader, dbi, &cursor));
	move(cursor, MDB_FIRST, NULL, NULL);
	txn = begin(env, 0);
	SAY(put(txn, dbi, "k", "2", 0));
	SAY(mdb_txn_commit(txn));
	get(reader, dbi, "k");
	mdb_txn_reset(reader);
	get(reader, dbi, "k");
	move(cursor, MDB_FIRST, NULL, NULL);
	SAY(mdb_cursor_renew(reader, cursor));
	SAY(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
	SAY(mdb_txn_renew(reader));
	mdb_txn_abort(txn);
	SAY(mdb_txn_renew(reader));
	SAY(mdb_cursor_renew(reader, cursor));
	move(cursor, MDB_FIRST, NULL, NULL);
	SAY(mdb_txn_commit(reader));
	reader = begin(env, MDB_RDONLY);
	SAY(mdb_cursor_renew(reader, cursor));
	move(cursor, MDB_LAST, NULL, NULL);
	mdb_txn_abort(reader);
	mdb_cursor_close(cursor);
	mdb_env_close(env);
}

/* Not what the manual allows, but what programs do: the cursor goes on where it stood, without being renewed. */
static void going_on(void) {
	MDB_env *env = open_env("going on", MDB_NOTLS);
	MDB_txn *txn = begin(env, 0), *reader;
	MDB_dbi dbi = table(txn, "plain", MDB_CREATE), dup = table(txn, "dup", MDB_CREATE | MDB_DUPSORT);
	MDB_cursor *cursor, *values;
	MDB_val k, d;
	size_t count;
	for (int i = 0; i < 400; i++) {
		char key[8];
		snprintf(key, sizeof key, "k%03d", i);
		MUST(put(txn, dbi, key, "value", 0));
		MUST(put(txn, dup, i < 200 ? "low" : "up", key, 0));
	}
	MUST(mdb_txn_commit(txn));
	reader = begin(env, MDB_RDONLY);
	MUST(mdb_cursor_open(reader, dbi, &cursor));
	MUST(mdb_cursor_open(reader, dup, &values));
	mdb_txn_reset(reader);
	for (int i = 0; i < 402; i++) {
		MUST(mdb_txn_renew(reader));
		int rc = mdb_cursor_get(cursor, &k, &d, i ? MDB_NEXT : MDB_FIRST);
		printf("%d", rc);
		if (!rc) print_value("", &k);
		rc = mdb_cursor_get(values, &k, &d, MDB_NEXT);
		printf(" %d", rc);
		if (!rc) print_value("", &d);
		printf("\n");
		mdb_txn_reset(reader);
		if (i % 3 == 0) {
			MUST(mdb_txn_renew(reader));
			mdb_txn_reset(reader);
		}
	}
	MUST(mdb_txn_renew(reader));
	move(cursor, MDB_SET, "k100", NULL);
	move(values, MDB_GET_BOTH, "up", "k300");
	mdb_txn_reset(reader);
	MUST(mdb_txn_renew(reader));
	SAY(mdb_cursor_count(values, &count));
	printf("%zu\n", count);
	move(cursor, MDB_GET_CURRENT, NULL, NULL);
	move(values, MDB_GET_CURRENT, NULL, NULL);
	mdb_txn_reset(reader);
	MUST(mdb_txn_renew(reader));
	move(cursor, MDB_PREV, NULL, NULL);
	move(values, MDB_PREV, NULL, NULL);
	mdb_cursor_close(cursor);
	mdb_cursor_close(values);
	mdb_txn_abort(reader);
	mdb_env_close(env);
}

/* What a cursor did is not seen by the next one, on whichever table and in whatever transaction. */
static void look_and_close(MDB_txn *txn, const MDB_dbi *dbis, int round) {
	MDB_cursor *cursor;
	size_t count = 0;
	for (int i = 0; i < 6; i++) {
		MUST(mdb_cursor_open(txn, dbis[(i + round) % 3], &cursor));
		move(cursor, MDB_GET_CURRENT, NULL, NULL);
		printf("%d\n", mdb_cursor_count(cursor, &count));
		move(cursor, i & 1 ? MDB_NEXT : MDB_PREV, NULL, NULL);
		for (int j = 0; j < i; j++) {
			move(cursor, MDB_LAST_DUP, NULL, NULL);
			move(cursor, MDB_NEXT_NODUP, NULL, NULL);
			move(cursor, MDB_NEXT, NULL, NULL);
		}
		if (i == round) move(cursor, MDB_SET_RANGE, "k2", NULL);
		move(cursor, MDB_FIRST_DUP, NULL, NULL);
		move(cursor, MDB_PREV_NODUP, NULL, NULL);
		mdb_cursor_close(cursor);
	}
}

static void opened_again(void) {
	MDB_env *env = open_env("opened again", 0);
	MDB_txn *txn = begin(env, 0), *child;
	MDB_dbi dbis[3] = {table(txn, "a", MDB_CREATE), table(txn, "b", MDB_CREATE | MDB_DUPSORT), table(txn, "c", MDB_CREATE)};
	MDB_cursor *cursor;
	for (int i = 0; i < 900; i++) {
		char key[8], data[8];
		snprintf(key, sizeof key, "k%d", i % (i < 600 ? 5 : 40));
		snprintf(data, sizeof data, "%d", i);
		for (int j = 0; j < 2; j++) MUST(put(txn, dbis[j], key, data, 0));
	}
	look_and_close(txn, dbis, 0);
	MUST(mdb_txn_begin(env, txn, 0, &child));
	look_and_close(child, dbis, 1);
	MUST(put(child, dbis[2], "k7", "child", 0));
	look_and_close(child, dbis, 2);
	mdb_txn_abort(child);
	look_and_close(txn, dbis, 3);
	MUST(mdb_txn_commit(txn));
	for (int round = 0; round < 6; round++) {
		txn = begin(env, round & 1 ? 0 : MDB_RDONLY);
		look_and_close(txn, dbis, round);
		mdb_txn_abort(txn);
	}
	txn = begin(env, MDB_RDONLY);
	MUST(mdb_cursor_open(txn, dbis[1], &cursor));
	for (int i = 0; i < 4; i++) {
		move(cursor, MDB_NEXT, NULL, NULL);
		move(cursor, i & 1 ? MDB_LAST_DUP : MDB_NEXT_NODUP, NULL, NULL);
		mdb_txn_reset(txn);
		MUST(mdb_txn_renew(txn));
		MUST(mdb_cursor_renew(txn, cursor));
		move(cursor, MDB_GET_CURRENT, NULL, NULL);
	}
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

static void handles(void) {
	MDB_env *env = open_env("handles", 0);
	MDB_txn *txn = begin(env, 0), *old;
	MDB_dbi a, b, c;
	unsigned flags;
	SAY(mdb_dbi_open(txn, "a", MDB_CREATE | MDB_DUPSORT, &a));
	SAY(mdb_dbi_open(txn, "a", MDB_CREATE, &b));
	printf("%u %u\n", a, b);
	SAY(mdb_dbi_open(txn, "b", MDB_CREATE, &b));
	printf("%u\n", b);
	SAY(put(txn, a, "k", "v", 0));
	mdb_txn_abort(txn);
	old = begin(env, MDB_RDONLY);
	SAY(mdb_dbi_open(old, "a", 0, &a));
	mdb_txn_abort(old);
	txn = begin(env, 0);
	SAY(mdb_dbi_open(txn, "b", MDB_CREATE, &b));
	printf("%u\n", b);
	for (int i = 0; i < 9; i++) {
		char name[] = "t0";
		name[1] += i;
		SAY(mdb_dbi_open(txn, name, MDB_CREATE, &c));
	}
	SAY(mdb_txn_commit(txn));
	mdb_dbi_close(env, b);
	txn = begin(env, MDB_RDONLY);
	SAY(mdb_dbi_flags(txn, b, &flags));
	SAY(mdb_dbi_open(txn, "t3", 0, &c));
	printf("%u\n", c);
	SAY(mdb_dbi_open(txn, "b", MDB_DUPSORT, &b));
	printf("%u\n", b);
	SAY(mdb_dbi_flags(txn, b, &flags));
	printf("%x\n", flags);
	SAY(mdb_txn_commit(txn));
	txn = begin(env, 0);
	SAY(put(txn, b, "k", "v", 0));
	SAY(mdb_drop(txn, b, 1));
	SAY(put(txn, b, "k", "v", 0));
	SAY(mdb_dbi_flags(txn, b, &flags));
	SAY(mdb_dbi_open(txn, "b", 0, &b));
	SAY(mdb_drop(txn, 1, 1));
	SAY(mdb_txn_commit(txn));
	txn = begin(env, MDB_RDONLY);
	walk(txn, 1);
	get(txn, c, "k");
	SAY(mdb_drop(txn, c, 0));
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

static int print_line(const char *line, void *context) {
	++*(int *)context;
	return line[0] == '(' ? printf("%s", line) : 1;
}

static void change(MDB_env *env, MDB_dbi dbi, const char *data) {
	MDB_txn *txn = begin(env, 0);
	SAY(data ? put(txn, dbi, "k", data, 0) : mdb_drop(txn, dbi, 0));
	MUST(mdb_txn_commit(txn));
}

/* What a transaction has found out about tables does not hold for the next. */
static void tables_again(void) {
	MDB_env *env = open_env("again", 0);
	MDB_txn *txn = begin(env, 0);
	MDB_dbi first = table(txn, "first", MDB_CREATE), second = table(txn, "second", MDB_CREATE);
	SAY(put(txn, first, "k", "of the first", 0));
	SAY(put(txn, second, "k", "of the second", 0));
	MUST(mdb_txn_commit(txn));
	txn = begin(env, MDB_RDONLY);
	get(txn, first, "k");
	get(txn, second, "k");
	mdb_txn_abort(txn);
	mdb_dbi_close(env, first);
	mdb_dbi_close(env, second);
	/* The first one's number is the second one's now. */
	txn = begin(env, MDB_RDONLY);
	MDB_dbi again = table(txn, "second", 0);
	printf("%d\n", again == first);
	get(txn, again, "k");
	MUST(mdb_txn_commit(txn));
	change(env, again, "changed");
	txn = begin(env, MDB_RDONLY);
	get(txn, again, "k");
	mdb_txn_reset(txn);
	SAY(mdb_txn_renew(txn));
	get(txn, again, "k");
	mdb_txn_reset(txn);
	change(env, again, "changed once more");
	SAY(mdb_txn_renew(txn));
	get(txn, again, "k");
	mdb_txn_reset(txn);
	change(env, again, NULL);
	SAY(mdb_txn_renew(txn));
	get(txn, again, "k");
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

/* A table is made anew, or opened anew, under the eyes of a reader, who goes on with the one that he knows. */
static void made_anew(int by_closing, int looked_before) {
	MDB_env *env = open_env(by_closing ? looked_before ? "anew3" : "anew2" : looked_before ? "anew1" : "anew0", 0);
	MDB_txn *txn = begin(env, 0), *reader;
	MDB_dbi dbi = table(txn, "t", MDB_CREATE), again;
	MDB_cursor *cursor;
	SAY(put(txn, dbi, "k", "before", 0));
	MUST(mdb_txn_commit(txn));
	txn = begin(env, 0);
	MDB_dbi late;
	reader = begin(env, MDB_RDONLY);
	if (looked_before) get(reader, dbi, "k");
	if (by_closing) mdb_dbi_close(env, dbi);
	else SAY(mdb_drop(txn, dbi, 1));
	SAY(mdb_dbi_open(txn, "t", MDB_CREATE, &again));
	SAY(mdb_dbi_open(txn, "late", MDB_CREATE, &late));
	printf("%d\n", again == dbi);
	get(reader, again, "k");
	SAY(put(txn, again, "k", "after", 0));
	MUST(mdb_txn_commit(txn));
	get(reader, again, "k");
	get(reader, late, "k");
	MDB_stat stat;
	SAY(mdb_stat(reader, again, &stat));
	SAY(mdb_cursor_open(reader, again, &cursor));
	move(cursor, MDB_FIRST, NULL, NULL);
	mdb_cursor_close(cursor);
	mdb_txn_reset(reader);
	SAY(mdb_txn_renew(reader));
	get(reader, again, "k");
	mdb_txn_abort(reader);
	mdb_env_close(env);
}

/* Whoever empties all tables empties the main one, too: before the others, after them, or in a child. */
static void all_emptied(int order) {
	char name[] = "emptied 0";
	name[8] += order;
	MDB_env *env = open_env(name, 0);
	MDB_txn *txn = begin(env, 0), *child;
	MDB_dbi main, dbi, other;
	MDB_stat stat;
	MUST(mdb_dbi_open(txn, NULL, 0, &main));
	MUST(mdb_dbi_open(txn, "table", MDB_CREATE, &dbi));
	SAY(put(txn, dbi, "k", "1", 0));
	SAY(put(txn, dbi, "k", "2", 0));
	SAY(put(txn, main, "own", "1", 0));
	MUST(mdb_txn_commit(txn));
	txn = begin(env, 0);
	switch (order) {
	case 0:
		SAY(mdb_drop(txn, main, 0));
		SAY(mdb_drop(txn, dbi, 0));
		break;
	case 1:
		SAY(mdb_drop(txn, dbi, 0));
		SAY(mdb_drop(txn, main, 0));
		SAY(mdb_stat(txn, main, &stat));
		printf("%zu entries\n", stat.ms_entries);
		break;
	case 2:
		SAY(mdb_drop(txn, main, 0));
		SAY(mdb_dbi_open(txn, "table", MDB_CREATE, &other));
		printf("%s\n", other == dbi ? "the same" : "another");
		SAY(mdb_drop(txn, other, 0));
		SAY(put(txn, other, "k", "3", 0));
		break;
	case 3:
		MUST(mdb_txn_begin(env, txn, 0, &child));
		SAY(mdb_drop(child, main, 0));
		SAY(mdb_drop(child, dbi, 0));
		SAY(put(child, dbi, "k", "4", 0));
		SAY(mdb_txn_commit(child));
		break;
	case 4:
		MUST(mdb_txn_begin(env, txn, 0, &child));
		SAY(mdb_drop(child, main, 0));
		mdb_txn_abort(child);
		break;
	}
	SAY(mdb_txn_commit(txn));
	change(env, dbi, "new");
	mdb_env_close(env);
	env = open_env(name, 0);
	txn = begin(env, MDB_RDONLY);
	SAY(mdb_dbi_open(txn, "table", 0, &dbi));
	SAY(mdb_stat(txn, dbi, &stat));
	printf("%zu entries\n", stat.ms_entries);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

static void *read_in_thread(void *env) {
	MDB_txn *txn;
	SAY(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
	mdb_txn_abort(txn);
	return NULL;
}

static void readers(void) {
	MDB_env *env = open_env("readers", 0);
	int lines = 0;
	pthread_t thread;
	printf("%d\n", mdb_reader_list(env, print_line, &lines) >= 0);
	MDB_txn *txn = begin(env, MDB_RDONLY);
	printf("%d lines %d\n", mdb_reader_list(env, print_line, &lines) >= 0, lines);
	pthread_create(&thread, NULL, read_in_thread, env);
	pthread_join(thread, NULL);
	mdb_txn_abort(txn);
	mdb_env_close(env);
	env = open_env("readers", MDB_NOTLS);
	MDB_txn *many[3];
	for (int i = 0; i < 3; i++) SAY(mdb_txn_begin(env, NULL, MDB_RDONLY, &many[i]));
	for (int i = 0; i < 3; i++) mdb_txn_abort(many[i]);
	mdb_env_close(env);
	/* A process that dies leaves nothing that others would have to wait for. */
	env = open_env("readers", 0);
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		MDB_env *own = open_env("readers", 0);
		begin(own, MDB_RDONLY);
		put(begin(own, 0), 1, "lost", "lost", 0);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	txn = begin(env, 0);
	MDB_dbi dbi = table(txn, NULL, 0);
	get(txn, dbi, "lost");
	SAY(put(txn, dbi, "kept", "kept", 0));
	SAY(mdb_txn_commit(txn));
	mdb_env_close(env);
}

static void copies(void) {
	MDB_env *env = open_env("original", 0);
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, NULL, 0), dup = table(txn, "dup", MDB_CREATE | MDB_DUPSORT);
	for (int i = 0; i < 100; i++) {
		char key[20];
		snprintf(key, sizeof key, "k%03d", i);
		MUST(put(txn, dbi, key, "value", 0));
		MUST(put(txn, dup, i % 2 ? "odd" : "even", key, 0));
	}
	MUST(mdb_txn_commit(txn));
	static const char *const names[] = {"copy", "compact", "piped"};
	for (int i = 0; i < 3; i++) {
		mkdir(place(names[i]), 0777);
		if (i == 2) {
			int fd = open(place("piped/data.mdb"), O_CREAT | O_WRONLY, 0644);
			SAY(mdb_env_copyfd2(env, fd, MDB_CP_COMPACT));
			close(fd);
		} else {
			SAY(mdb_env_copy2(env, place(names[i]), i ? MDB_CP_COMPACT : 0));
			SAY(mdb_env_copy(env, place(names[i])));
		}
		MDB_env *copy = open_env(names[i], 0);
		txn = begin(copy, MDB_RDONLY);
		MDB_stat stat;
		mdb_stat(txn, table(txn, NULL, 0), &stat);
		printf("%s %zu", names[i], stat.ms_entries);
		mdb_stat(txn, table(txn, "dup", 0), &stat);
		printf(" %zu\n", stat.ms_entries);
		mdb_txn_abort(txn);
		mdb_env_close(copy);
	}
	SAY(mdb_env_copy(env, place("nowhere")));
	mdb_env_close(env);
}

/* Every entry of a table, into one number. */
static unsigned long sum_of(MDB_env *env) {
	MDB_txn *txn = begin(env, MDB_RDONLY);
	MDB_cursor *cursor;
	MDB_val key, value;
	unsigned long sum = 5381, entries = 0;
	MUST(mdb_cursor_open(txn, table(txn, NULL, 0), &cursor));
	while (!mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
		for (size_t i = 0; i < key.mv_size; i++) sum = sum * 33 + ((unsigned char *)key.mv_data)[i];
		for (size_t i = 0; i < value.mv_size; i++) sum = sum * 33 + ((unsigned char *)value.mv_data)[i];
		entries++;
	}
	printf("%lu entries, ", entries);
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	return sum;
}

/* Compacts an environment that has nothing but its main table, of this kind; values up to so many bytes. */
static void compacts_alone(const char *name, unsigned flags, int bytes_max) {
	static char value[20001];
	char copied[40], key[20];
	snprintf(copied, sizeof copied, "%s compacted", name);
	MDB_env *env = open_env(name, 0);
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, NULL, flags);
	for (int i = 0; i < 4000; i++) {
		snprintf(key, sizeof key, "%07d", i * 7919 % 10007 / (flags & MDB_DUPSORT ? 1000 : 1));
		int bytes = 1 + i * 31 % bytes_max;
		memset(value, 'a' + i % 26, bytes);
		memcpy(value, key + 3, bytes < 4 ? bytes : 4);
		value[bytes] = 0;
		put(txn, dbi, key, value, 0);
	}
	MUST(mdb_txn_commit(txn));
	mkdir(place(copied), 0777);
	SAY(mdb_env_copy2(env, place(copied), MDB_CP_COMPACT));
	MDB_env *copy = open_env(copied, 0);
	printf("%s: ", name);
	unsigned long before = sum_of(env), after = sum_of(copy);
	printf("%lu, %s\n", before, before == after ? "the same" : "not the same");
	mdb_env_close(copy);
	mdb_env_close(env);
}

static MDB_env *open_for(const char *name, unsigned tables) {
	MDB_env *env;
	mkdir(place(name), 0777);
	MUST(mdb_env_create(&env));
	MUST(mdb_env_set_maxdbs(env, tables));
	MUST(mdb_env_open(env, place(name), 0, 0644));
	return env;
}

/* Compacts tables of all kinds, from empty ones to some of several pages. */
static void compacts_many(void) {
	static const unsigned kinds[] = {0, MDB_REVERSEKEY, MDB_DUPSORT, MDB_DUPSORT | MDB_REVERSEDUP, MDB_DUPSORT | MDB_DUPFIXED};
	enum { TABLES = 40 };
	MDB_env *env = open_for("many", TABLES), *copy;
	MDB_txn *txn = begin(env, 0), *copied;
	char name[20], key[20];
	for (int i = 0; i < TABLES; i++) {
		snprintf(name, sizeof name, "%d", i);
		MDB_dbi dbi = table(txn, name, MDB_CREATE | kinds[i % 5]);
		for (int j = 0; j < 23 * (i % 13); j++) {
			snprintf(key, sizeof key, "%d", j * 7 % 31);
			snprintf(name, sizeof name, "%05d", j);
			MUST(put(txn, dbi, key, name, 0));
		}
	}
	MUST(mdb_txn_commit(txn));
	mkdir(place("many compacted"), 0777);
	SAY(mdb_env_copy2(env, place("many compacted"), MDB_CP_COMPACT));
	copy = open_for("many compacted", TABLES);
	txn = begin(env, MDB_RDONLY), copied = begin(copy, MDB_RDONLY);
	for (int i = 0; i < TABLES; i++) {
		MDB_cursor *a, *b;
		MDB_val k, v, l, w;
		unsigned flags = 0;
		int count = 0, differ = 0, rc;
		snprintf(name, sizeof name, "%d", i);
		MUST(mdb_cursor_open(txn, table(txn, name, 0), &a));
		MUST(mdb_cursor_open(copied, table(copied, name, 0), &b));
		MUST(mdb_dbi_flags(copied, mdb_cursor_dbi(b), &flags));
		do {
			rc = mdb_cursor_get(a, &k, &v, MDB_NEXT);
			differ += rc != mdb_cursor_get(b, &l, &w, MDB_NEXT);
			if (!rc) differ += memcmp(k.mv_data, l.mv_data, k.mv_size) || memcmp(v.mv_data, w.mv_data, v.mv_size);
		} while (!rc && !differ && ++count);
		printf("%d flags %x: %d, differ %d\n", i, flags, count, differ);
		mdb_cursor_close(a);
		mdb_cursor_close(b);
	}
	mdb_txn_abort(txn);
	mdb_txn_abort(copied);
	mdb_env_close(env);
	mdb_env_close(copy);
}

/* What is left of transactions that read, once their environment is closed: they can be ended. */
static void closed_before_readers(void) {
	MDB_env *env = open_env("left", MDB_NOLOCK);
	MDB_txn *txn = begin(env, 0), *reads, *rests;
	MDB_dbi dbi = table(txn, "t", MDB_CREATE);
	MDB_cursor *kept, *closed;
	SAY(put(txn, dbi, "k", "v", 0));
	MUST(mdb_txn_commit(txn));
	for (int by_commit = 0; by_commit < 2; by_commit++) {
		reads = begin(env, MDB_RDONLY), rests = begin(env, MDB_RDONLY);
		get(reads, dbi, "k");
		MUST(mdb_cursor_open(reads, dbi, &kept));
		MUST(mdb_cursor_open(reads, dbi, &closed));
		move(closed, MDB_FIRST, NULL, NULL);
		mdb_txn_reset(rests);
		mdb_env_close(env);
		mdb_cursor_close(closed);
		if (by_commit) SAY(mdb_txn_commit(reads));
		else mdb_txn_abort(reads);
		mdb_txn_abort(rests);
		mdb_cursor_close(kept);
		env = open_env("left", MDB_NOLOCK);
		txn = begin(env, MDB_RDONLY);
		dbi = table(txn, "t", 0);
		get(txn, dbi, "k");
		MUST(mdb_txn_commit(txn));
	}
	mdb_env_close(env);
}

int main(int argc, char **argv) {
	base = argc > 1 ? argv[1] : ".";
	setvbuf(stdout, NULL, _IOLBF, 0);
	nesting();
	nested_cursors();
	comparing();
	resetting();
	going_on();
	opened_again();
	handles();
	tables_again();
	for (int i = 0; i < 4; i++) made_anew(i & 1, i >> 1);
	for (int order = 0; order < 5; order++) all_emptied(order);
	readers();
	copies();
	compacts_alone("alone", 0, 20000);
	compacts_alone("alone with duplicates", MDB_DUPSORT, 300);
	compacts_alone("alone, reversed", MDB_REVERSEKEY, 300);
	compacts_many();
	closed_before_readers();
	return 0;
}
