import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * The library that steps the wall clock of one process: it adds the milliseconds of a file to CLOCK_REALTIME. The
 * monotonic clock is left alone, as it is when a clock is set.
 */
const source = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile int64_t *step;
__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("CHAOS_CLOCK_STEP");
  int file = path == NULL ? -1 : open(path, O_RDONLY);
  void *found = file < 0 ? MAP_FAILED : mmap(NULL, 8, PROT_READ, MAP_SHARED, file, 0);
  if (found != MAP_FAILED) step = found;
  if (file >= 0) close(file);
}
static void shift(int64_t *seconds, int64_t *fraction, int64_t unit) {
  int64_t ms = step == NULL ? 0 : *step;
  *seconds += ms / 1000;
  *fraction += ms % 1000 * (unit / 1000);
  if (*fraction < 0) { *fraction += unit; *seconds -= 1; }
  if (*fraction >= unit) { *fraction -= unit; *seconds += 1; }
}
int clock_gettime(clockid_t id, struct timespec *out) {
  static int (*real)(clockid_t, struct timespec *);
  if (real == NULL) real = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, out);
  if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
    int64_t seconds = out->tv_sec, fraction = out->tv_nsec;
    shift(&seconds, &fraction, 1000000000);
    out->tv_sec = seconds;
    out->tv_nsec = fraction;
  }
  return result;
}
int gettimeofday(struct timeval *restrict out, void *restrict zone) {
  (void)zone;
  struct timespec now;
  int result = clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return result;
}
time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}
`;

/** Builds the library in a folder; undefined, with the reason, where it cannot be built or has no effect. */
export async function buildClockLibrary(
  folder: string,
): Promise<
  { readonly path: string; readonly reason?: undefined } | { readonly path?: undefined; readonly reason: string }
> {
  const [code, path] = [join(folder, "clock.c"), join(folder, "clock.so")];
  try {
    await writeFile(code, source);
    await run("cc", ["-shared", "-fPIC", "-O1", "-o", path, code, "-ldl"]);
    const clock = await createClock(folder, path, "probe");
    await clock.step(3_600_000);
    const { stdout } = await run(process.execPath, ["-p", "Date.now()"], {
      env: { ...process.env, ...clock.environment },
    });
    const isStepped = Number(stdout) - Date.now() > 3_000_000;
    return isStepped ? { path } : { reason: "a preloaded library does not change the clock of Node.js" };
  } catch (error) {
    return { reason: error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error) };
  }
}

/** The wall clock of one pod. */
export interface SteppedClock {
  /** For the pod's process. */
  readonly environment: Readonly<Record<string, string>>;
  /** Sets the difference to the clock of this machine, in milliseconds. */
  step(ms: number): Promise<void>;
}

export async function createClock(folder: string, library: string, name: string): Promise<SteppedClock> {
  const file = join(folder, `${name}.clock`);
  const step = async (ms: number): Promise<void> => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(ms));
    // In place, because the process has mapped the file.
    await writeFile(file, bytes, { flag: "r+" }).catch(() => writeFile(file, bytes));
  };
  await step(0);
  return { environment: { LD_PRELOAD: library, CHAOS_CLOCK_STEP: file }, step };
}
