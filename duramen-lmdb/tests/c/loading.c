/* The library as programs load and unload it that are not linked with it. Usage: loading DIRECTORY [ROUNDS] */
#include <dlfcn.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 1500, THREAD_ROUNDS = 6, THREADS = 3 };

#define FUNCTION(name) __typeof__(name) *name##_ = (__typeof__(name) *)dlsym(library, #name)

static const char *base;

struct world {
	void *library;
	MDB_env *env;
	pthread_barrier_t *read, *unloaded;
};

/* Reads, and ends only when the library is gone. */
static void *read_and_outlive(void *given) {
	struct world *world = given;
	void *library = world->library;
	FUNCTION(mdb_txn_begin);
	FUNCTION(mdb_txn_abort);
	FUNCTION(mdb_get);
	MDB_txn *txn;
	MDB_val k = {3, "key"}, d;
	if (mdb_txn_begin_(world->env, NULL, MDB_RDONLY, &txn) || mdb_get_(txn, 1, &k, &d)) abort();
	mdb_txn_abort_(txn);
	pthread_barrier_wait(world->read);
	pthread_barrier_wait(world->unloaded);
	return NULL;
}

static MDB_env *open_in(void *library, unsigned flags) {
	FUNCTION(mdb_env_create);
	FUNCTION(mdb_env_open);
	MDB_env *env;
	if (mdb_env_create_(&env) || mdb_env_open_(env, base, flags, 0644)) abort();
	return env;
}

static void store_in(void *library, MDB_env *env, int round) {
	FUNCTION(mdb_txn_begin);
	FUNCTION(mdb_txn_commit);
	FUNCTION(mdb_dbi_open);
	FUNCTION(mdb_put);
	MDB_txn *txn;
	MDB_dbi dbi;
	MDB_val k = {3, "key"}, d = {sizeof round, &round};
	if (mdb_txn_begin_(env, NULL, 0, &txn) || mdb_dbi_open_(txn, NULL, 0, &dbi)) abort();
	if (mdb_put_(txn, dbi, &k, &d, 0) || mdb_txn_commit_(txn)) abort();
}

/* What the library has the system do at a fork goes with it, and does not keep it. */
static void fork_once(void) {
	pid_t child = fork();
	if (!child) _exit(0);
	int status = 1;
	if (waitpid(child, &status, 0) != child || status) abort();
}

/* More often than a process can have keys of thread-local storage. */
static void again_and_again(int rounds) {
	for (int round = 0; round < rounds; round++) {
		void *library = dlopen("liblmdb.so.0", RTLD_NOW | RTLD_LOCAL);
		if (!library) abort();
		FUNCTION(mdb_env_close);
		MDB_env *env = open_in(library, MDB_NOSYNC);
		if (round % 100 == 0) store_in(library, env, round);
		if (round % 100 == 0) fork_once();
		mdb_env_close_(env);
		dlclose(library);
		if (round % 100 == 0) fork_once();
	}
	printf("unloaded %d\n", !dlopen("liblmdb.so.0", RTLD_NOW | RTLD_NOLOAD));
	printf("loaded %d times\n", rounds);
}

/* Threads that have read end after the library is gone. */
static void threads_outlive_it(void) {
	for (int round = 0; round < THREAD_ROUNDS; round++) {
		pthread_barrier_t read, unloaded;
		pthread_t threads[THREADS];
		pthread_barrier_init(&read, NULL, THREADS + 1);
		pthread_barrier_init(&unloaded, NULL, THREADS + 1);
		void *library = dlopen("liblmdb.so.0", RTLD_NOW | RTLD_LOCAL);
		if (!library) abort();
		FUNCTION(mdb_env_close);
		struct world world = {library, open_in(library, round % 2 ? MDB_NOTLS : 0), &read, &unloaded};
		store_in(library, world.env, round);
		for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, read_and_outlive, &world);
		pthread_barrier_wait(&read);
		mdb_env_close_(world.env);
		dlclose(library);
		pthread_barrier_wait(&unloaded);
		for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
		printf("round %d\n", round);
	}
}

/* Functions of the host's that have the same names are not called. */
int mdb_txn_commit(MDB_txn *txn) {
	(void)txn;
	abort();
}

int mdb_env_sync(MDB_env *env, int force) {
	(void)env, (void)force;
	abort();
}

static void not_captured(void) {
	void *library = dlopen("liblmdb.so.0", RTLD_NOW | RTLD_GLOBAL);
	if (!library) abort();
	FUNCTION(mdb_env_close);
	FUNCTION(mdb_env_sync);
	FUNCTION(mdb_env_copy);
	MDB_env *env = open_in(library, 0);
	store_in(library, env, 1);
	printf("sync %d copy %d\n", mdb_env_sync_(env, 1), mdb_env_copy_(env, "/nowhere"));
	mdb_env_close_(env);
	dlclose(library);
}

int main(int argc, char **argv) {
	base = argc > 1 ? argv[1] : ".";
	setvbuf(stdout, NULL, _IOLBF, 0);
	again_and_again(argc > 2 ? atoi(argv[2]) : ROUNDS);
	/* What the library keeps for such threads is lost with it. */
	if (argc < 4) threads_outlive_it();
	not_captured();
	return 0;
}
