// Threads that share the iterations of kernels. The leader publishes one job after the other, does its part of it like the others, and goes
// on when nobody is inside any more. Each thread has the same part of the iterations in every run, because what it wrote lies in its processor's
// caches; who has done its own takes of the others'. A follower that comes late, because the system gave it no processor, is not waited for: whoever
// is there does the iterations. Nobody blocks here: who waits for long returns, and sleeps outside.
#include <stdint.h>
#include <string.h>
#include <time.h>
#if !defined(_WIN32)
#include <sched.h>
#endif

#ifndef WEFT_CREW
#define WEFT_CREW
typedef struct {
	void (*kernel)(char *const *buf, const int32_t *var, char *scratch, int32_t lo, int32_t hi); // 0: a copy
	char *const *buf;
	const void *var; // of a copy: its bytes, and those of an iteration
	char *const *scratch; // of each thread
	int32_t n, least, threads, takes; // takes: ns, about; 0: not known
	int32_t trials, alone; // how many runs are still timed on one thread, and how many ns one may take so that it stays there
} weft_job;

// What changes hands has a cache line of its own.
typedef struct {
	uint64_t left; // of a part, the iterations that nobody has taken: from the low 32 bits up to the high ones
	int64_t a[7];
} weft_part;

typedef struct {
	int64_t state; // see below
	int64_t a[7];
	weft_part *parts; // as many as there are threads
	char b[64 - sizeof(void *)];
	int64_t asleep; // followers, counted outside
	int64_t workers;
	int64_t keen, patient; // for how many ns who waits keeps the processor, and returns to sleep after
	int64_t slice;         // after how many ns the leader returns between two jobs
	int64_t c[3];
	weft_job job;
} weft_crew_t;

// The state is the job's number (<< 32), flags, and how many followers are inside the job.
#define WEFT_NUMBERS 0xfffffff // numbers begin again: with the end of a call they fit in a register
#define WEFT_INSIDE 0xffff
#define WEFT_CLOSED 0x10000 // nobody may enter
#define WEFT_WAITS 0x20000  // the leader sleeps until the last one leaves
#define WEFT_STOP 0x40000

// What calls end with, beside a number.
enum { WEFT_DONE, WEFT_WAKE, WEFT_WAIT, WEFT_IDLE, WEFT_LAST, WEFT_STOPPED, WEFT_LATE };

static void weft_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
	__asm__ volatile("yield");
#endif
}

static int64_t weft_now(void) {
#if defined(_WIN32)
	return (int64_t)clock() * (1000000000 / CLOCKS_PER_SEC); // there it is the time since the start
#else
	struct timespec t;
#if defined(CLOCK_MONOTONIC)
	clock_gettime(CLOCK_MONOTONIC, &t);
#else
	timespec_get(&t, TIME_UTC);
#endif
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
#endif
}

// How long a thread has looked out.
typedef struct {
	int32_t looks;
	int64_t since;
} weft_watch;

// Pauses, and says whether it has been long enough. After the first while other threads of this processor go first. The clock may be one
// that is set back: waiting ends then, too.
static int weft_long(const weft_crew_t *c, weft_watch *w) {
	weft_pause();
	if (w->looks++ % 64)
		return 0;
	int64_t now = weft_now();
	if (w->since == 0)
		w->since = now;
	int64_t passed = now - w->since;
	if (passed >= c->patient || passed < 0)
		return 1;
#if !defined(_WIN32)
	if (passed >= c->keen)
		sched_yield();
#endif
	return 0;
}

static void weft_share(const weft_job *j, int32_t thread, int32_t lo, int32_t hi) {
	if (j->kernel) {
		j->kernel(j->buf, j->var, j->scratch[thread], lo, hi);
		return;
	}
	const int64_t *size = j->var;
	int64_t from = lo * size[1], to = hi * size[1];
	if (to > size[0])
		to = size[0];
	memmove(j->buf[0] + from, j->buf[1] + from, to - from);
}

// Take gives iterations of a part, half of what is left of it each time, so that there are few calls and yet nobody waits long for the last one:
// the owner's from the low end, which lie behind those that it has done, others' from the high one. It says whether there were any.
static int weft_take(weft_part *p, int32_t least, int own, int32_t *lo, int32_t *hi) {
	uint64_t left = __atomic_load_n(&p->left, __ATOMIC_RELAXED);
	for (;;) {
		uint32_t from = (uint32_t)left, to = (uint32_t)(left >> 32), take = (to - from) / 2;
		if (from >= to)
			return 0;
		if (take < (uint32_t)least)
			take = (uint32_t)least;
		if (take > to - from)
			take = to - from;
		uint64_t rest = own ? (uint64_t)to << 32 | (from + take) : (uint64_t)(to - take) << 32 | from;
		if (!__atomic_compare_exchange_n(&p->left, &left, rest, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		*lo = (int32_t)(own ? from : to - take);
		*hi = (int32_t)(own ? from + take : to);
		return 1;
	}
}

// Divide gives each thread of a job its part.
static void weft_divide(weft_crew_t *c, const weft_job *j) {
	uint64_t from = 0;
	for (int32_t i = 0; i < j->threads; i++) {
		uint64_t to = (uint64_t)j->n * (uint64_t)(i + 1) / (uint64_t)j->threads;
		c->parts[i].left = to << 32 | from;
		from = to;
	}
}

static void weft_shares(weft_crew_t *c, const weft_job *j, int32_t thread) {
	for (int32_t i = 0, part = thread % j->threads; i < j->threads; i++, part = part + 1 < j->threads ? part + 1 : 0)
		for (int32_t lo, hi; weft_take(&c->parts[part], j->least, part == thread, &lo, &hi);)
			weft_share(j, thread, lo, hi);
}

// Try does a job that may be too short for threads on one of them, where it stays if that did not take long.
static void weft_try(weft_job *j) {
	int64_t start = weft_now();
	weft_share(j, 0, 0, j->n);
	int64_t took = weft_now() - start;
	j->trials--;
	if (took >= 0 && took < j->alone)
		j->threads = 1;
}

// Lead does the jobs from at on. It ends early where followers are to be woken (call again for the same job, begun), the last one is to be
// waited for or the slice is over (call again for the next).
static intptr_t weft_lead(weft_crew_t *c, weft_job *jobs, intptr_t count, intptr_t at, intptr_t begun) {
	const int64_t look = 20000; // ns of work after which it looks at the clock, which takes as long as a short job
	int64_t start = weft_now(), worked = 0;
	for (intptr_t i = at; i < count; i++, begun = 0) {
		weft_job *j = &jobs[i];
		if (worked >= look) {
			if (weft_now() - start >= c->slice)
				return i << 3 | WEFT_LATE;
			worked = 0;
		}
		worked += j->takes > 0 ? j->takes : look;
		if (j->threads <= 1 || j->n <= 1) {
			weft_share(j, 0, 0, j->n);
			continue;
		}
		if (j->trials > 0) {
			weft_try(j);
			continue;
		}
		if (!begun) {
			c->job = *j;
			weft_divide(c, j);
			int64_t number = (__atomic_load_n(&c->state, __ATOMIC_RELAXED) >> 32) + 1;
			__atomic_store_n(&c->state, (number & WEFT_NUMBERS) << 32, __ATOMIC_SEQ_CST);
			if (c->workers - __atomic_load_n(&c->asleep, __ATOMIC_SEQ_CST) < j->threads - 1)
				return i << 3 | WEFT_WAKE;
		}
		weft_shares(c, j, 0);
		int64_t s = __atomic_fetch_or(&c->state, WEFT_CLOSED, __ATOMIC_ACQ_REL);
		for (weft_watch w = {0, 0}; s & WEFT_INSIDE; s = __atomic_load_n(&c->state, __ATOMIC_ACQUIRE)) {
			if (!weft_long(c, &w))
				continue;
			s = __atomic_fetch_or(&c->state, WEFT_WAITS, __ATOMIC_ACQ_REL);
			if (s & WEFT_INSIDE)
				return i << 3 | WEFT_WAIT;
			break;
		}
	}
	return WEFT_DONE;
}

// Follow joins jobs after the one with the number last, until there was none for long or the leader is to be told.
static intptr_t weft_follow(weft_crew_t *c, intptr_t thread, intptr_t last) {
	for (weft_watch w = {0, 0};;) {
		int64_t s = __atomic_load_n(&c->state, __ATOMIC_ACQUIRE);
		if (s & WEFT_STOP)
			return last << 3 | WEFT_STOPPED;
		if (s >> 32 == last || s & WEFT_CLOSED) {
			if (weft_long(c, &w))
				return last << 3 | WEFT_IDLE;
			continue;
		}
		if (!__atomic_compare_exchange_n(&c->state, &s, s + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		last = s >> 32;
		weft_shares(c, &c->job, thread);
		s = __atomic_fetch_sub(&c->state, 1, __ATOMIC_ACQ_REL);
		if ((s & WEFT_INSIDE) == 1 && s & WEFT_WAITS)
			return last << 3 | WEFT_LAST;
		w = (weft_watch){0, 0};
	}
}
#endif

// The threads are one function: with jobs it leads, without it follows.
intptr_t weft_crew(weft_crew_t *c, weft_job *jobs, intptr_t count, intptr_t at, intptr_t begun) {
	return jobs ? weft_lead(c, jobs, count, at, begun) : weft_follow(c, count, at);
}
