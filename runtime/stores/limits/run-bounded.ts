/**
 * Runs jobs, at most `most` at once, and returns their values in the order of the jobs. After a failure it starts no
 * further job.
 *
 * @throws the first failure
 */
export async function runBounded<Job, Value>(
  jobs: readonly Job[],
  most: number,
  run: (job: Job) => Promise<Value>,
): Promise<readonly Value[]> {
  const values: Value[] = [];
  let next = 0;
  let failed = false;
  const work = async (): Promise<void> => {
    while (next < jobs.length && !failed) {
      const index = next;
      next += 1;
      try {
        values[index] = await run(jobs[index] as Job);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, jobs.length) }, work));
  return values;
}
