/* Stands before the C library and counts the requests for memory, and their bytes, while it watches. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

static int watching;
static long requests, bytes;
static size_t largest;

static void note(size_t size) {
    if (!__atomic_load_n(&watching, __ATOMIC_SEQ_CST)) return;
    __atomic_fetch_add(&requests, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&bytes, (long)size, __ATOMIC_SEQ_CST);
    size_t before = __atomic_load_n(&largest, __ATOMIC_SEQ_CST);
    while (size > before &&
           !__atomic_compare_exchange_n(&largest, &before, size, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
}

void allocation_watch(int on) { __atomic_store_n(&watching, on, __ATOMIC_SEQ_CST); }
long allocation_requests(void) { return __atomic_exchange_n(&requests, 0, __ATOMIC_SEQ_CST); }
long allocation_bytes(void) { return __atomic_load_n(&bytes, __ATOMIC_SEQ_CST); }
size_t allocation_largest(void) { return __atomic_exchange_n(&largest, 0, __ATOMIC_SEQ_CST); }

/* Watches while a compiled program runs, and nothing else of this thread does. */
void allocation_call(void (*program)(void *, void *), void *context, void *team) {
    allocation_watch(1);
    program(context, team);
    allocation_watch(0);
}

#define FORWARD(result, name, parameters, arguments, size) \
    result name parameters {                               \
        static result(*next) parameters;                   \
        if (!next) *(void **)&next = dlsym(RTLD_NEXT, #name); \
        note(size);                                        \
        return next arguments;                             \
    }

FORWARD(void *, malloc, (size_t size), (size), size)
FORWARD(void *, realloc, (void *old, size_t size), (old, size), size)
FORWARD(int, posix_memalign, (void **to, size_t by, size_t size), (to, by, size), size)
FORWARD(void *, aligned_alloc, (size_t by, size_t size), (by, size), size)
FORWARD(void *, memalign, (size_t by, size_t size), (by, size), size)
FORWARD(void *, mmap, (void *at, size_t size, int may, int how, int file, off_t from),
        (at, size, may, how, file, from), size)
FORWARD(void *, mmap64, (void *at, size_t size, int may, int how, int file, int64_t from),
        (at, size, may, how, file, from), size)

/* dlsym may itself ask for zeros, which come from here; they are never given back. */
static _Alignas(16) char zeros[4096];

void *calloc(size_t count, size_t size) {
    static void *(*next)(size_t, size_t);
    static int asking;
    static size_t used;
    if (!next) {
        if (asking) {
            void *found = zeros + used;
            used += (count * size + 15) & ~(size_t)15;
            return used <= sizeof zeros ? found : NULL;
        }
        asking = 1;
        *(void **)&next = dlsym(RTLD_NEXT, "calloc");
        asking = 0;
    }
    note(count * size);
    return next(count, size);
}

void free(void *old) {
    static void (*next)(void *);
    if ((char *)old >= zeros && (char *)old < zeros + sizeof zeros) return;
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "free");
    next(old);
}
