import { describe, expect, test } from "vitest";
import { findBrowser } from "./console-browser.ts";
import { useConsole } from "./console-visitor.ts";
import { deadLetterTasks } from "./tasks/dead-letter-tasks.ts";
import { homeTasks } from "./tasks/home-tasks.ts";
import { eventTasks } from "./tasks/event-tasks.ts";
import { metricTasks } from "./tasks/metric-tasks.ts";
import { partnerTasks } from "./tasks/partner-tasks.ts";
import { measureTask } from "./tasks/support-person.ts";

/** Of each task. */
const clicksMax = 4;
const taskMsMax = 30_000;

const found = await findBrowser();
// Dead letters end with their tasks, so they are last.
const tasks = [...homeTasks, ...eventTasks, ...partnerTasks, ...metricTasks, ...deadLetterTasks].map(
  (task) => [task.question, task] as const,
);

describe.skipIf("missing" in found)("a support person", () => {
  const used = useConsole(found);

  test.each(tasks)("%s", async (question, task) => {
    const { clicks, ms } = await measureTask(task, used.visitor);
    process.stdout.write(`${question} ${clicks} clicks, ${(ms / 1_000).toFixed(1)} s\n`);
    expect(clicks, "clicks").toBeLessThanOrEqual(clicksMax);
    expect(ms, "scripted time").toBeLessThanOrEqual(taskMsMax);
  });
});
