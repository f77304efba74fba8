/* Moves a process's idea of the time of day, and nothing else, by CLOCK_IS_OFF seconds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    const char *off = getenv("CLOCK_IS_OFF");
    if (clock == CLOCK_REALTIME && off)
        time->tv_sec += atol(off);
    return result;
}
