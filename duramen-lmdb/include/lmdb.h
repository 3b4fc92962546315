/* The C interface of LMDB as Duramen's liblmdb offers it.
 *
 * Names, numbers and signatures are LMDB's, so that programs written for it compile and run as they are; what is said
 * about them here is about this library. docs/lmdb-compat.md says where the two differ.
 *
 * With MDB_INTERFACE defined as 1 before this header is included, it declares what LMDB 1.0 has beyond 0.9 too
 * (liblmdb.so.1).
 *
 * Functions return 0, a code from the list below, or a number of errno.h, unless said otherwise. */
#ifndef _LMDB_H_
#define _LMDB_H_

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MDB_INTERFACE
#define MDB_INTERFACE 0
#endif

/* Version of LMDB that the library stands in for. There are build scripts that take it from the only lines that look so. */
#if MDB_INTERFACE < 1
#define MDB_VERSION_MAJOR 0
#define MDB_VERSION_MINOR 9
#define MDB_VERSION_PATCH 24
#else
#define DURAMEN_LATER_MAJOR 1
#define DURAMEN_LATER_MINOR 0
#define DURAMEN_LATER_PATCH 2
#define MDB_VERSION_MAJOR DURAMEN_LATER_MAJOR
#define MDB_VERSION_MINOR DURAMEN_LATER_MINOR
#define MDB_VERSION_PATCH DURAMEN_LATER_PATCH
#endif
#define MDB_VERINT(a, b, c) (((a) << 24) | ((b) << 16) | (c))
#define MDB_VERSION_FULL MDB_VERINT(MDB_VERSION_MAJOR, MDB_VERSION_MINOR, MDB_VERSION_PATCH)
#define MDB_VERSION_DATE "Duramen"
#define MDB_VERSTR(a, b, c, d) "LMDB " #a "." #b "." #c ": (" d ")"
#define MDB_VERFOO(a, b, c, d) MDB_VERSTR(a, b, c, d)
#define MDB_VERSION_STRING MDB_VERFOO(MDB_VERSION_MAJOR, MDB_VERSION_MINOR, MDB_VERSION_PATCH, MDB_VERSION_DATE)

typedef mode_t mdb_mode_t;
typedef int mdb_filehandle_t;
typedef size_t mdb_size_t;

/* An environment: a database file, opened. */
typedef struct MDB_env MDB_env;
/* A transaction. */
typedef struct MDB_txn MDB_txn;
/* A position in a table. */
typedef struct MDB_cursor MDB_cursor;
/* A table's handle: a small number. */
typedef unsigned int MDB_dbi;

/* Bytes: a key or a value. What the library hands out stays valid until the transaction ends; in a write transaction,
 * until it changes something. */
typedef struct MDB_val {
	size_t mv_size;
	void *mv_data;
} MDB_val;

/* Tells the order of two keys, or of two values of one key: below 0, 0, or above 0. */
typedef int(MDB_cmp_func)(const MDB_val *a, const MDB_val *b);
/* Never called. */
typedef void(MDB_rel_func)(MDB_val *item, void *oldptr, void *newptr, void *relctx);
/* Takes a line of text; below 0 stops. */
typedef int(MDB_msg_func)(const char *msg, void *ctx);
/* Kept, never called: this library's own faults end the process. */
typedef void(MDB_assert_func)(MDB_env *env, const char *msg);

/* Flags of mdb_env_open. */
#define MDB_FIXEDMAP 0x01        /* accepted; the map is where it is */
#define MDB_NOSUBDIR 0x4000      /* the path is the data file's, not a directory's */
#define MDB_NOSYNC 0x10000       /* commits do not wait for the disk */
#define MDB_RDONLY 0x20000       /* nothing is written */
#define MDB_NOMETASYNC 0x40000   /* accepted; commits are durable all the same */
#define MDB_WRITEMAP 0x80000     /* accepted; the file keeps its length */
#define MDB_MAPASYNC 0x100000    /* with MDB_WRITEMAP: as MDB_NOSYNC */
#define MDB_NOTLS 0x200000       /* a thread may have several read transactions, and hand them on */
#define MDB_NOLOCK 0x400000      /* no lock file: the program keeps writers from others */
#define MDB_NORDAHEAD 0x800000   /* single pages are read, and what is known to come next */
#define MDB_NOMEMINIT 0x1000000  /* accepted; reserved room is zeroed all the same */
#if MDB_INTERFACE >= 1
#define MDB_ENCRYPT 0x2000          /* refused */
#define MDB_PREVSNAPSHOT 0x2000000  /* refused */
#define MDB_REMAP_CHUNKS 0x4000000  /* accepted */
#endif

/* Flags of mdb_dbi_open. */
#define MDB_REVERSEKEY 0x02  /* keys sort from their last byte */
#define MDB_DUPSORT 0x04     /* a key may have several values, sorted */
#define MDB_INTEGERKEY 0x08  /* keys are native integers of 4 or 8 bytes */
#define MDB_DUPFIXED 0x10    /* all values have one size */
#define MDB_INTEGERDUP 0x20  /* values are native integers */
#define MDB_REVERSEDUP 0x40  /* values sort from their last byte */
#define MDB_CREATE 0x40000   /* made if it is not there */

/* Flags of mdb_put, mdb_cursor_put and (MDB_NODUPDATA) mdb_cursor_del. */
#define MDB_NOOVERWRITE 0x10  /* not if the key is there */
#define MDB_NODUPDATA 0x20    /* not if the key has this value; deleting: all values of the key */
#define MDB_CURRENT 0x40      /* over the entry under the cursor */
#define MDB_RESERVE 0x10000   /* room only, to be filled in */
#define MDB_APPEND 0x20000    /* only behind all keys */
#define MDB_APPENDDUP 0x40000 /* only behind all values of the key */
#define MDB_MULTIPLE 0x80000  /* many values of one size, side by side */

/* Flag of copying. */
#define MDB_CP_COMPACT 0x01 /* leave out what is free */

/* Movements of mdb_cursor_get. */
typedef enum MDB_cursor_op {
	MDB_FIRST,
	MDB_FIRST_DUP,
	MDB_GET_BOTH,
	MDB_GET_BOTH_RANGE,
	MDB_GET_CURRENT,
	MDB_GET_MULTIPLE,
	MDB_LAST,
	MDB_LAST_DUP,
	MDB_NEXT,
	MDB_NEXT_DUP,
	MDB_NEXT_MULTIPLE,
	MDB_NEXT_NODUP,
	MDB_PREV,
	MDB_PREV_DUP,
	MDB_PREV_NODUP,
	MDB_SET,
	MDB_SET_KEY,
	MDB_SET_RANGE,
	MDB_PREV_MULTIPLE
} MDB_cursor_op;

/* Codes. */
#define MDB_SUCCESS 0
#define MDB_KEYEXIST (-30799)
#define MDB_NOTFOUND (-30798)
#define MDB_PAGE_NOTFOUND (-30797)
#define MDB_CORRUPTED (-30796)
#define MDB_PANIC (-30795)
#define MDB_VERSION_MISMATCH (-30794)
#define MDB_INVALID (-30793)
#define MDB_MAP_FULL (-30792)
#define MDB_DBS_FULL (-30791)
#define MDB_READERS_FULL (-30790)
#define MDB_TLS_FULL (-30789)
#define MDB_TXN_FULL (-30788)
#define MDB_CURSOR_FULL (-30787)
#define MDB_PAGE_FULL (-30786)
#define MDB_MAP_RESIZED (-30785)
#define MDB_INCOMPATIBLE (-30784)
#define MDB_BAD_RSLOT (-30783)
#define MDB_BAD_TXN (-30782)
#define MDB_BAD_VALSIZE (-30781)
#define MDB_BAD_DBI (-30780)
#if MDB_INTERFACE >= 1
#define MDB_PROBLEM (-30779)
#define MDB_BAD_CHECKSUM (-30778)
#define MDB_CRYPTO_FAIL (-30777)
#define MDB_ENV_ENCRYPTION (-30776)
#define MDB_TXN_PENDING (-30775)
#define MDB_CANT_ROLLBACK (-30774)
#define MDB_DBIS_BUSY (-30773)
#define MDB_SHORT_WRITE (-30772)
#define MDB_ENV_BUSY (-30771)
#define MDB_IS_READONLY (-30770)
#define MDB_ADDR_BUSY (-30769)
#define MDB_LAST_ERRCODE MDB_ADDR_BUSY
#else
#define MDB_LAST_ERRCODE MDB_BAD_DBI
#endif

/* What a table consists of. */
typedef struct MDB_stat {
	unsigned int ms_psize;
	unsigned int ms_depth;
	size_t ms_branch_pages;
	size_t ms_leaf_pages;
	size_t ms_overflow_pages;
	size_t ms_entries;
} MDB_stat;

/* An environment in numbers. */
typedef struct MDB_envinfo {
	void *me_mapaddr;
	size_t me_mapsize;
	size_t me_last_pgno;
	size_t me_last_txnid;
	unsigned int me_maxreaders;
	unsigned int me_numreaders;
} MDB_envinfo;

/* The library's version; each place may be null. */
char *mdb_version(int *major, int *minor, int *patch);
/* The text of a code. */
char *mdb_strerror(int err);

/* Environments. Made, set up, opened; closed when all transactions have ended, also if opening failed. */
int mdb_env_create(MDB_env **env);
int mdb_env_open(MDB_env *env, const char *path, unsigned int flags, mdb_mode_t mode);
void mdb_env_close(MDB_env *env);
/* A copy, to a directory that holds none (or a file that is not there), or to a descriptor, which may be a pipe. */
int mdb_env_copy(MDB_env *env, const char *path);
int mdb_env_copyfd(MDB_env *env, mdb_filehandle_t fd);
int mdb_env_copy2(MDB_env *env, const char *path, unsigned int flags);
int mdb_env_copyfd2(MDB_env *env, mdb_filehandle_t fd, unsigned int flags);
/* The main table's numbers; the environment's. */
int mdb_env_stat(MDB_env *env, MDB_stat *stat);
int mdb_env_info(MDB_env *env, MDB_envinfo *stat);
/* Makes all commits survive a power cut. */
int mdb_env_sync(MDB_env *env, int force);
/* MDB_NOSYNC, MDB_NOMETASYNC, MDB_MAPASYNC and MDB_NOMEMINIT may be changed at any time. */
int mdb_env_set_flags(MDB_env *env, unsigned int flags, int onoff);
int mdb_env_get_flags(MDB_env *env, unsigned int *flags);
int mdb_env_get_path(MDB_env *env, const char **path);
int mdb_env_get_fd(MDB_env *env, mdb_filehandle_t *fd);
/* The most bytes that the file may use. In an open environment: while nothing writes; 0 takes over the limit of the file. */
int mdb_env_set_mapsize(MDB_env *env, size_t size);
int mdb_env_set_maxreaders(MDB_env *env, unsigned int readers);
int mdb_env_get_maxreaders(MDB_env *env, unsigned int *readers);
/* How many tables with a name may be open at once. */
int mdb_env_set_maxdbs(MDB_env *env, MDB_dbi dbs);
/* The longest key, and value of several: 511; for programs of 1.0, once it is open, what a page can hold. */
int mdb_env_get_maxkeysize(MDB_env *env);
/* A pointer of the program's own. */
int mdb_env_set_userctx(MDB_env *env, void *ctx);
void *mdb_env_get_userctx(MDB_env *env);
int mdb_env_set_assert(MDB_env *env, MDB_assert_func *func);

/* Transactions. With a parent: nested in it. */
int mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned int flags, MDB_txn **txn);
MDB_env *mdb_txn_env(MDB_txn *txn);
size_t mdb_txn_id(MDB_txn *txn);
/* Both free the transaction, whatever they return. */
int mdb_txn_commit(MDB_txn *txn);
void mdb_txn_abort(MDB_txn *txn);
/* A read transaction lets go of what it sees; takes the newest state. */
void mdb_txn_reset(MDB_txn *txn);
int mdb_txn_renew(MDB_txn *txn);

/* Tables. The name null is the main table's, which holds the names of the others. */
#define mdb_open(txn, name, flags, dbi) mdb_dbi_open(txn, name, flags, dbi)
#define mdb_close(env, dbi) mdb_dbi_close(env, dbi)
int mdb_dbi_open(MDB_txn *txn, const char *name, unsigned int flags, MDB_dbi *dbi);
int mdb_stat(MDB_txn *txn, MDB_dbi dbi, MDB_stat *stat);
int mdb_dbi_flags(MDB_txn *txn, MDB_dbi dbi, unsigned int *flags);
void mdb_dbi_close(MDB_env *env, MDB_dbi dbi);
/* Empties a table; with del 1, removes it too. */
int mdb_drop(MDB_txn *txn, MDB_dbi dbi, int del);
/* An order of the program's own, to be given before the first use, by every program that uses the table. */
int mdb_set_compare(MDB_txn *txn, MDB_dbi dbi, MDB_cmp_func *cmp);
int mdb_set_dupsort(MDB_txn *txn, MDB_dbi dbi, MDB_cmp_func *cmp);
int mdb_set_relfunc(MDB_txn *txn, MDB_dbi dbi, MDB_rel_func *rel);
int mdb_set_relctx(MDB_txn *txn, MDB_dbi dbi, void *ctx);

/* Entries. */
int mdb_get(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *data);
int mdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *data, unsigned int flags);
/* Without data: the key with all its values. */
int mdb_del(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *data);

/* Cursors. */
int mdb_cursor_open(MDB_txn *txn, MDB_dbi dbi, MDB_cursor **cursor);
void mdb_cursor_close(MDB_cursor *cursor);
int mdb_cursor_renew(MDB_txn *txn, MDB_cursor *cursor);
MDB_txn *mdb_cursor_txn(MDB_cursor *cursor);
MDB_dbi mdb_cursor_dbi(MDB_cursor *cursor);
int mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *data, MDB_cursor_op op);
int mdb_cursor_put(MDB_cursor *cursor, MDB_val *key, MDB_val *data, unsigned int flags);
/* The cursor is then on the entry after it. */
int mdb_cursor_del(MDB_cursor *cursor, unsigned int flags);
/* How many values the key has. */
int mdb_cursor_count(MDB_cursor *cursor, size_t *countp);

/* Compare as a table's keys, or values, sort. */
int mdb_cmp(MDB_txn *txn, MDB_dbi dbi, const MDB_val *a, const MDB_val *b);
int mdb_dcmp(MDB_txn *txn, MDB_dbi dbi, const MDB_val *a, const MDB_val *b);

/* Who reads; clears what dead processes left. */
int mdb_reader_list(MDB_env *env, MDB_msg_func *func, void *ctx);
int mdb_reader_check(MDB_env *env, int *dead);

#if MDB_INTERFACE >= 1
typedef int(MDB_enc_func)(const MDB_val *src, MDB_val *dst, const MDB_val *key, int encdec);
typedef void(MDB_sum_func)(const MDB_val *src, MDB_val *dst, const MDB_val *key);
/* Page size of a file that is to be made: a power of two from 4096 to 65536. */
int mdb_env_set_pagesize(MDB_env *env, int size);
int mdb_txn_flags(MDB_txn *txn, unsigned int *flags);
/* 1 on the record of a table in the main one. */
int mdb_cursor_is_db(MDB_cursor *cursor);
/* Refused with ENOTSUP. */
int mdb_env_set_encrypt(MDB_env *env, MDB_enc_func *func, const MDB_val *key, unsigned int size);
int mdb_env_set_checksum(MDB_env *env, MDB_sum_func *func, unsigned int size);
int mdb_env_rollback(MDB_env *env, mdb_size_t txnid);
int mdb_env_incr_dump(MDB_env *env, const char *path, mdb_size_t txnid);
int mdb_env_incr_dumpfd(MDB_env *env, mdb_filehandle_t fd, mdb_size_t txnid);
int mdb_env_incr_loadfd(MDB_env *env, mdb_filehandle_t fd);
int mdb_txn_prepare(MDB_txn *txn);
#endif

#ifdef __cplusplus
}
#endif

#endif
