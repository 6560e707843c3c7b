/* Uses all of the C API on the pool at its first argument. */

#include "esker_scm.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define EXPECT(condition)                                                                 \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "line %d: " #condition " is not so\n", __LINE__);              \
            return 1;                                                                     \
        }                                                                                 \
    } while (0)

int main(int count, char **arguments)
{
    esker_scm *pool;
    esker_scm_file *file, *other;
    char bytes[16];
    EXPECT(count == 2);
    EXPECT(esker_scm_connect("/", &pool) == -ENODEV);
    EXPECT(esker_scm_connect(arguments[1], &pool) == 0);
    EXPECT(esker_scm_mkdir(pool, "c", 0755) == 0);
    EXPECT(esker_scm_mkdir(pool, "c", 0755) == -EEXIST);
    EXPECT(esker_scm_open(pool, "c/none", O_RDONLY, 0, &file) == -ENOENT);
    EXPECT(esker_scm_open(pool, "c/a", O_RDWR | O_CREAT, 0644, &file) == 0);
    EXPECT(esker_scm_write(file, "hello", 5, 3) == 5);
    EXPECT(esker_scm_append(file, "!!", 2) == 2);
    EXPECT(esker_scm_size(file) == 10);
    EXPECT(esker_scm_read(file, bytes, sizeof bytes, 0) == 10);
    EXPECT(memcmp(bytes, "\0\0\0hello!!", 10) == 0);
    EXPECT(esker_scm_set_size(file, 4) == 0 && esker_scm_size(file) == 4);
    EXPECT(esker_scm_sync(file) == 0);
    EXPECT(esker_scm_open(pool, "c/a", O_RDONLY, 0, &other) == 0);
    EXPECT(esker_scm_write(other, "x", 1, 0) == -EBADF);
    EXPECT(esker_scm_read(other, bytes, 1, 3) == 1 && bytes[0] == 'h');
    EXPECT(esker_scm_rename(pool, "c/a", "c/b") == 0);
    EXPECT(esker_scm_rmdir(pool, "c") == -ENOTEMPTY);
    esker_scm_close(other);
    esker_scm_close(file);
    /* As a stream the kernel has it, and the API goes through the kernel, too. */
    {
        char path[4096];
        FILE *stream;
        snprintf(path, sizeof path, "%s/c/b", arguments[1]);
        stream = fopen(path, "r+");
        EXPECT(stream != NULL);
        EXPECT(esker_scm_open(pool, "c/b", O_RDWR, 0, &file) == 0);
        EXPECT(esker_scm_write(file, "w", 1, 0) == 1);
        EXPECT(fgetc(stream) == 'w');
        EXPECT(esker_scm_append(file, "z", 1) == 1 && esker_scm_size(file) == 5);
        fclose(stream);
        esker_scm_close(file);
    }
    EXPECT(esker_scm_unlink(pool, "c/b") == 0);
    EXPECT(esker_scm_rmdir(pool, "c") == 0);
    esker_scm_disconnect(pool);
    return 0;
}
