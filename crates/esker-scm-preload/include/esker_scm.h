/* Files of a mounted SCMFS pool, from C, without a system call for data.
 *
 * Link with libesker_scm_preload.so. All functions may be called by several threads at the same time, also on the same
 * file; closing and disconnecting may not meet other calls. Those that can fail return a negative number of errno(3).
 * What is written here is read at once by every other program, by whichever way it reads: the mount, the library loaded
 * before a program, or this. Where only the kernel can do what is asked, it is asked. */

#ifndef ESKER_SCM_H
#define ESKER_SCM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A connection to the process that has mounted a pool. */
typedef struct esker_scm esker_scm;
/* An open file. */
typedef struct esker_scm_file esker_scm_file;

/* Connects to the owner of the pool that is mounted at a directory. 0, or -ENODEV if none is, -ECONNREFUSED if its owner
 * does not answer. */
int esker_scm_connect(const char *directory, esker_scm **into);
/* Files that are still open stay open. */
void esker_scm_disconnect(esker_scm *connection);

/* Opens a file, whose path begins at the directory of the mount, by flags and mode of open(2). 0, or as open(2). */
int esker_scm_open(esker_scm *connection, const char *path, int flags, mode_t mode, esker_scm_file **into);
void esker_scm_close(esker_scm_file *file);

/* Bytes read from an offset on, fewer than asked for only at the end of the file; or as pread(2). */
int64_t esker_scm_read(esker_scm_file *file, void *into, size_t count, uint64_t offset);
/* Bytes written at an offset, fewer only if the pool is full; or as pwrite(2). */
int64_t esker_scm_write(esker_scm_file *file, const void *bytes, size_t count, uint64_t offset);
/* Bytes written at the end of the file. Others that append at the same time do not write there, too. */
int64_t esker_scm_append(esker_scm_file *file, const void *bytes, size_t count);

/* Bytes of a file; or as fstat(2). */
int64_t esker_scm_size(esker_scm_file *file);
/* Makes a file longer, by zeroes, or shorter. 0, or as ftruncate(2). */
int esker_scm_set_size(esker_scm_file *file, uint64_t size);
/* Makes durable what was written. 0, or as fsync(2). */
int esker_scm_sync(esker_scm_file *file);

/* As unlink(2), rename(2), mkdir(2), rmdir(2), by paths that begin at the directory of the mount. */
int esker_scm_unlink(esker_scm *connection, const char *path);
int esker_scm_rename(esker_scm *connection, const char *from, const char *to);
int esker_scm_mkdir(esker_scm *connection, const char *path, mode_t mode);
int esker_scm_rmdir(esker_scm *connection, const char *path);

#ifdef __cplusplus
}
#endif

#endif
